// Command prose measures how the project's texts read. It counts sentences of
// comments and documents that match a list of patterns, e.g. a sentence that begins
// with "What", and compares the counts of each folder with those in .ci/prose. Names
// of tests such as TestWhatIsLeft count, too.
//
//	prose              compare, and fail when a folder has become worse
//	prose -list [DIR]  print each match: file, line, pattern, sentence
//	prose -update      write the present counts to .ci/prose
//	prose -subjects A..B
//	                   check the subjects of commits
//	prose -comments A..B
//	                   check that commits change only comments of Go files
//
// A match is a hint for a reader. A few are right, which is why the counts may not
// rise but need not be zero.
package main
