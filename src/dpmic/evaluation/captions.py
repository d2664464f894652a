"""What the page says beneath its figures and at its end."""

from __future__ import annotations

__all__ = ["CAPTIONS", "NOTES"]

CAPTIONS = {
    "synthetic": "bias (top) and variance (bottom) over all distributions, as n grows; the "
    "paper's boxplots for synthetic data, with ours",
    "wsum": "WSUM against n, for every mechanism, the constant and the floors without privacy",
    "parameters": "The tuned B, c and largest number of columns against n",
    "real": "bias (top) and variance (bottom) over the pairs, binned by their MICe without "
    "privacy; as the paper draws Spellman4381 and Baseball, with ours",
    "consistency": "MICr, its private versions, MICr-Geom as published, which is not epsilon-DP, "
    "and the distribution's own range matrix as n grows, beside MIC*; the paper proves that they "
    "come to it and prints no figure",
    "error-rate": "Largest difference of an entry between the sample's matrix and the "
    "distribution's (left) and between the matrix of MICr-Geom, which is not epsilon-DP, and "
    "MICr's (right), with the line fitted from n = 1,000 on and the rate that is proved",
    "grids": "Columns of equal mass and of equal range of the same eight points, and their count "
    "matrices; the paper's first figure. The points are ours: the paper does not list its own",
}
NOTES = (
    "MICr-Geom as published is not epsilon-DP: proved guarantee G x epsilon, where G is the "
    "number of master grids, 148 at B = 150; the tables' files say it for every row. It draws "
    "fresh noise for every grid and returns a maximum over all "
    "of them, so its guarantee is their composition. It stands here as published, for comparison "
    "only, and its noise at a stated epsilon is less than an epsilon-DP mechanism would need.",
    "MICe-Lap and MICr-Lap as published are epsilon-DP with more noise than needed: their "
    "sensitivities are upper bounds. Ours use the exact sensitivity of MICr and a smaller proved "
    "bound for MICe.",
    "Points are put into their cells correctly here. The published code moves on by one cell at "
    "most, so that a point after an empty cell can land in the wrong one; small differences from "
    "the printed tables can come from that.",
    "F3 and F4 are printed as 2(x - 0.05); the published results were made with 2x - 0.5, which "
    "is what stays near [0, 1], and so are ours.",
    "Bounds on real data come from its own smallest and largest values, as in the paper. That is "
    "not private, for any mechanism, and exists in this evaluation alone: a release needs bounds "
    "that were known before the data were seen.",
    "Value and estimate: the value is what a mechanism releases, score plus noise within [0, 1]; "
    "the estimate shrinks the value by what its noise scale supports. It looks at no data again, "
    "so it costs no privacy.",
    "MICe is ours, whose parts are spaced evenly; the paper used minepy's. On every 110th pair of "
    "Baseball they differ by 0.004 in the mean and 0.028 at most.",
    "The noisy table gets the best of 2 to 32 parts. Where n is small its output hardly depends on "
    "the data: it is then near a constant, and so is MICr-Geom with a large B.",
    "The estimate takes every strength of dependence for equally likely beforehand and aims at "
    "MIC*. Where most pairs are weak, and where errors are counted against MICe of the same "
    "records, whose own bias the estimate removes, the value can be closer.",
    "Errors on synthetic data are with respect to MIC*, on real data with respect to MICe without "
    "privacy (alpha 0.6, c 15). The constant 0.5 looks at no data: a mechanism above it is worse "
    "than not asking.",
)
