"""Job files: what to publish about a table, written, checked, rehearsed and run.

Nothing in a job file comes from the records: ``template`` uses only the names of the columns.
"""

from dpmic.job._editing import edited
from dpmic.job._entries import EntryError, as_entry, for_the_file, speaking_of_keys
from dpmic.job._job import MADE_UP, Job
from dpmic.job._rules import is_about_unit
from dpmic.job._template import save, template

__all__ = [
    "MADE_UP",
    "EntryError",
    "Job",
    "as_entry",
    "edited",
    "for_the_file",
    "is_about_unit",
    "save",
    "speaking_of_keys",
    "template",
]
