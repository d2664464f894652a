"""How to read a page, for somebody who has met neither MIC nor differential privacy."""

from __future__ import annotations

MIC = (
    "A MIC (Maximal Information Coefficient) of 0 means that one column tells nothing about the "
    "other; 1 means that one follows from the other, along a line or along any curve. In few "
    "records a curve that goes up and down often scores less than 1, even an exact one. MIC says "
    "how strong a relation is, but not its direction or shape, and not what causes what."
)
CHANCE = "By chance, unrelated columns score a little above 0, more so where there are few records."
VALUE = (
    "The value is the score of the records with random noise added, kept between 0 and 1. The "
    "noise is what protects each person, and nobody can take it off again."
)
ESTIMATE = (
    "The estimate is a guess of MIC*, the value in the whole population, made from the published "
    "value and the size of its noise. Its interval covers the noise and the sampling error "
    "together: in simulations on relationships that it was not fitted to, it contained MIC* in "
    "at least 93% of cases. It assumes that the records do not lie in a small corner of their "
    "bounds, and that the pair was named beforehand, not chosen for its strength."
)
INTERVAL = (
    "The noise interval tells how far the noise may have moved the value: with a probability of "
    "95% or more it contains what these records score without noise. It covers the privacy noise, "
    "not sampling error: it says nothing of how the score would differ for other people of the "
    "same kind."
)
SEVERAL = (
    "Each interval holds for its own pair. Of twenty, one may well miss. Where the intervals of "
    "two pairs overlap, do not rely on their order."
)
TOGETHER = (
    "The noise of all values was drawn together: it has one random size, and moves each value by "
    "an amount of its own within it. So if one interval misses, others are likelier to."
)
SELECTED = (
    "The pairs were chosen for their strength, with noise in the choice, too. A pair that is not "
    "listed may be strong all the same; nothing here says anything about it."
)
NOISY_ORDER = (
    "With many pairs some of the largest values are large only by their noise: look at the "
    "intervals before the order."
)
GROUPS = (
    "Each group was scored by itself. How many people are in a group is not published: the number "
    "beside its name is what was promised beforehand."
)
COUNTS = (
    "Every count in the histogram has noise, so that a single cell says little; look at the "
    "overall shape. That noise biases the MIC of the histogram and the other statistics: with few "
    "records or much noise they are large whatever the data are. There is no noise interval for "
    "this mechanism."
)
EPSILON = (
    "Epsilon is the price: the smaller, the less any result can depend on one person. Prices add "
    "up over everything that is ever published about the same people."
)
OUTSIDE = (
    "The range may be used as bounds of later releases, which cost their own epsilon and no more. "
    "It is made to hold nearly all records, but not the smallest and the largest: values outside "
    "are moved to its ends."
)
PVALUE = (
    "The p-value tells how surprising the result would be if the columns had nothing to do with "
    "each other: 0.01 or less would then appear once in a hundred times at most. A small one "
    "speaks for a relation, but says neither how strong nor how probable it is. A large one does "
    "not show that there is none."
)
PVALUES = (
    "p is the p-value of each pair: how often chance alone gives as much, were the two "
    "independent. Among many pairs small ones appear by chance."
)
QVALUES = (
    "q corrects p for the number of pairs: of the pairs with q at most 0.05, no more than 5% are "
    "expected to be independent."
)
TIC = (
    "TIC (Total Information Coefficient) sums the scores of all grids. It suits the question "
    "whether there is a relation at all; MIC the question how strong it is."
)
MINE = (
    "The other statistics describe the shape. MAS is large where a relation goes up and down; MEV "
    "is near the MIC where one column is a function of the other; MCN is larger, the more cells "
    "the relation needs."
)
TICE = (
    "The records of one column were shuffled many times, which breaks any relation. The histogram "
    "shows TICe, the statistic, after each shuffle; the line shows it for the records as they are."
)
GRID = (
    "The lines are the grid that shows the relation best: if the cell in one direction tells much "
    "about the cell in the other, the score is high."
)
EXPOSED = (
    "Nothing in this report is private: its numbers are computed from the records as they are, "
    "without noise{points}. If the table holds anything sensitive, do not publish this report nor "
    "any number in it. What dpmic.screen, dpmic.release and dpmic.release_pairwise return may be "
    "published."
)
REHEARSED = "Rehearsal on made-up data"
REHEARSAL = (
    "No record was read and nothing was spent. The columns were made up: they lie between the "
    "bounds, and have the categories, of the job file, and some were made to depend on others. So "
    "the values and the order of the pairs mean nothing. What you see is how large the noise will "
    "be, what it will cost, and what the report will look like."
)
