"""How likely what the parser reads must be, before it counts: one name for each doubt, the least first. Values."""

NOT_LATER = 0.05  # that a deed is for later, though a time is in the sentence: "Tom's back at eleven, garden lights on"
LIKELY = 0.25  # of a change that is asked about, and of the second of two
LIKELY_SILENT = 0.4  # that nothing is meant: then a deed is asked about, though both readers have it
LIKELY_IN_PART = 0.5  # that a whole turn asks for what a part of it does, where another part negates or reports
SURE_OF_THE_ACT = 0.6  # of an act as such, not of what is to be done: half a wish, talk, danger
SURE_TO_LOOK = 0.6  # of what only looks something up
SURE_TO_GO_ON = 0.6  # of a change that follows on another: then the house is spoken to
SURE = 0.7  # of a change that is made at once: below, 19 of 37 were right, above 969 of 987
SURE_THOUGH_NEGATED = 0.8  # of a change or a look, when some word may say not to do it
SURE_OF_SILENCE = 0.8  # that nothing is meant, so that nothing is asked, nor words taken as they are: "play nicely"
SURE_OF_ANOTHER = 0.85  # that another tool is meant than a grammar read
SURE_THOUGH_ADDRESSED = 0.9  # that the house is meant, though a name stands before it
SURE_OF_A_DEVICE = 0.9  # that a named device is meant, and what is to be done to it, where a grammar read another deed
MOST_SURE_OF_SILENCE = 0.9  # that nothing is meant, where a grammar read a deed, or a wish may stand at the end
MOST_SURE = 0.95  # where a grammar read several things, or a word is often one of doubt
