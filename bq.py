import numpy as np, time, dpmic, fast_mine
def best_of(f,r):
    f(); m=1e9
    for _ in range(r):
        t=time.perf_counter(); f(); m=min(m,time.perf_counter()-t)
    return m
for n in (250,1000,10000):
    rng=np.random.default_rng(0); x=rng.random(n); y=rng.random(n)
    prob=fast_mine.MineProblem(x,y,n); par=fast_mine.MineParameter(0.6,15.0,fast_mine.EST_MIC_E)
    a=best_of(lambda:dpmic.mice(x,y),30); p=best_of(lambda:fast_mine.mine_compute_score(prob,par),4)
    print(n,f"mice call {a*1e3:.3f} ms peer {p*1e3:.1f} ratio {p/a:.0f}")
