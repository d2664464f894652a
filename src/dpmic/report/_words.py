"""How to read a page, for somebody who knows neither MIC nor differential privacy."""

from __future__ import annotations

from dpmic.results.relation import MODERATE, STRONG

MIC = (
    "MIC (Maximal Information Coefficient) measures how strongly two columns are related, along a "
    "line or along any curve. A score close to 0 means that no grid shows a relation; a relation "
    "without noise scores close to 1. MIC does not say in which direction a relation goes, what "
    "shape it has, or what causes what. With few records, a curve that goes up and down scores "
    "less than 1 even if it is exact."
)
MICE = (
    "MICe, which this report shows, searches fewer grids than MIC and estimates its value in the "
    "whole population."
)
MICR = (
    "MICr, which this report shows, draws its grids within stated bounds, whatever the records are."
)
STRENGTH = (
    f"This report calls a relation weak below {MODERATE}, moderate from {MODERATE} and strong from "
    f"{STRONG}. For comparison: columns with a normal distribution score about {MODERATE} if their "
    f"correlation is 0.5, and about {STRONG} if it is 0.7."
)
CHANCE = "By chance, unrelated columns score a little above 0, more so in small tables."
BAND = (
    "The shaded band shows it: with a probability of 95%, unrelated columns with this many records "
    "score no more. It comes from simulations with many different numbers in each column. Columns "
    "with few different values score less."
)
BANDS = (
    "The shaded band shows it: with a probability of 95%, even the strongest of {pairs} unrelated "
    "pairs with this many records scores no more. It comes from simulations with many different "
    "numbers in each column. Columns with few different values score less."
)
VALUE = (
    "The value is the score of the records plus random noise, kept between 0 and 1. The noise "
    "hides the effect of any {each}, as far as epsilon says."
)
ESTIMATE = (
    "The estimate is a guess of MIC*, the value in the whole population, made from the published "
    "value and the size of its noise. Its interval covers the privacy noise and sampling error "
    "together: in simulations on relationships that it was not fitted to, it contained MIC* in "
    "at least 93% of cases, on average over the relationships it was tried on; for some less "
    "often. It assumes that the records fill most of their bounds, and that the pair was named "
    "beforehand, not selected for its strength."
)
INTERVAL = (
    "The noise interval says how far the noise may have moved the value: with a probability of at "
    "least 95% it contains what these records score without noise. It covers the privacy noise, "
    "not sampling error: another sample would score somewhat differently."
)
SEVERAL = (
    "Each interval holds for its own pair, so expect about 5% of them to miss. Where the intervals "
    "of two pairs overlap, do not rely on their order. The sentence at the top calls a pair "
    "related only if it exceeds unrelated columns with the noise of all values allowed for at once."
)
TOGETHER = (
    "The noise of all values was drawn together: it has one random size, and moves each value by a "
    "different amount within it. So if one interval misses, others are more likely to miss."
)
SELECTED = (
    "The pairs were selected for their strength, and the selection is noisy, too. A pair that is "
    "not listed may still be strong; this report says nothing about it."
)
NOISY_ORDER = (
    "Among many pairs, some of the largest values are large only because of their noise: look at "
    "the intervals before the order."
)
GROUPS = "Each group was scored by itself. How many {them} are in a group is not published."
COMPLETE = (
    "The scores rely on a promise, which dpmic did not check: that at least {share} of the records "
    "have both values of a pair. If fewer have, the scores are too low. The protection holds "
    "anyway."
)
AT_LEAST = (
    "The smallest number of {them} in a group is a promise, which dpmic did not check. If a group "
    "has fewer, its scores are too low. The protection holds anyway."
)
COUNTS = (
    "Every count in the histogram has noise, so a single cell means little; look at the overall "
    "shape. The noise biases the MIC of the histogram and the other statistics: with few records "
    "or much noise they are large whatever the data are. There is no noise interval for them."
)
EPSILON = (
    "Epsilon limits the effect of any {each} on what is published: the smaller, the less. The "
    "epsilons of everything published about the same {them} add up."
)
OUTSIDE = (
    "The range may be used as bounds of later releases; these are charged separately. It is meant "
    "to hold nearly all records, but not the smallest and the largest: values outside are moved to "
    "its ends."
)
PVALUE = (
    "The p-value says how surprising the result would be if the columns were unrelated: they would "
    "produce 0.01 or less in at most 1% of cases. A small p-value is evidence of a relation, but "
    "does not say how strong it is. A large one does not show that there is none."
)
FILLED_PVALUE = (
    "Missing values were filled in, and the p-value is about the columns after that: if those were "
    "unrelated, they would produce 0.01 or less in at most 1% of cases. Values that are missing in "
    "the same records look like a relation after filling in. So a small p-value is no evidence "
    "that the original columns are related, and a large one does not show that they are not."
)
PVALUES = (
    "p is the p-value of each pair: the probability of so high a score if the two columns were "
    "unrelated. Among many pairs, some p-values are small by chance."
)
QVALUES = (
    "q corrects p for the number of pairs: of the pairs with q at most 0.05, no more than 5% are "
    "expected to be unrelated."
)
TIC = (
    "TIC (Total Information Coefficient) sums the scores of all grids. Use TIC to ask whether "
    "there is a relation, and MIC to ask how strong it is."
)
MINE = (
    "The other statistics describe the shape. MAS is large where a relation goes up and down. MEV "
    "is near the MIC where one column is a function of the other. MCN grows with the number of "
    "cells that the relation needs. Columns of categories may have no MAS or MEV."
)
TICE = (
    "The records of one column were shuffled many times, which breaks any relation. The histogram "
    "shows TICe, which sums the scores of all grids, after each shuffle; the line shows it for the "
    "records as they are."
)
GRID = (
    "The lines are the grid that shows the relation best: if the cell in one direction says much "
    "about the cell in the other, the score is high."
)
EXPOSED = (
    "Nothing in this report is private: its numbers were computed from the records as they are, "
    "without noise{points}. If the table holds anything sensitive, do not publish this report or "
    "any number in it. You may publish what {calls}, since it has noise."
)
REHEARSED = "Rehearsal on made-up data"
REHEARSAL = (
    "No record was read and nothing was spent. The columns were made up: they follow the bounds "
    "and categories of the job file, and some were made to depend on others. So the values and the "
    "order of the pairs mean nothing. For {people}, the report shows how large the noise will be, "
    "what it will cost, and what the real report will look like."
)
EXACT = (
    "Exact values must never stand beside private ones: they undo the protection. This page may "
    "show them, because {reason}. They let you judge the noise."
)
