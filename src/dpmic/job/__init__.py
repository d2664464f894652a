"""One file that says what to publish about a table: written for people, checked, rehearsed, run.

Nothing in it comes from the records: ``template`` looks at the names of the columns alone.
"""

from dpmic.job._editing import edited
from dpmic.job._entries import EntryError, for_the_file, speaking_of_keys
from dpmic.job._job import MADE_UP, Job
from dpmic.job._rules import is_about_unit
from dpmic.job._template import save, template

__all__ = [
    "MADE_UP",
    "EntryError",
    "Job",
    "edited",
    "for_the_file",
    "is_about_unit",
    "save",
    "speaking_of_keys",
    "template",
]
