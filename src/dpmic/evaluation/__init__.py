"""The paper's evaluation, reproduced and extended. All noise here is simulated, with a seed."""
