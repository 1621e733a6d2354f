package main

import (
	"regexp"
	"strings"
)

// longest is the number of words above which a sentence counts as long.
const longest = 32

const long = "over 32 words"

type pattern struct {
	name string
	is   *regexp.Regexp
}

var patterns = []pattern{
	{"starts with what/who", regexp.MustCompile(`^(?:What|Who|Whoever|Whose|Whom|Whatever)\b.*[^?]$`)},
	{"free relative as subject", regexp.MustCompile(`(?:[;:,] |\b(?:and|but|that|so|then|if|when|where|of|to|for|by|as|with|is|are|from) )` +
		`(?:what|who|whoever|whatever) (?:is|are|was|were|has|have|had|does|do|can|cannot|may|must|needs?|only|no|it|they|a|the|an|` +
		`comes?|goes?|stands?|runs?|asks?|reads?|holds?|changes?|makes?|made|leaves?|takes?|sends?|waits?|calls?|uses?|follows?|` +
		`there|nobody|somebody|[a-z]+ed)\b`)},
	{"told/said/asked", regexp.MustCompile(`\b(?:is|are|was|were|be|been|being) (?:told|said to|said so|said how|said why|said where|` +
		`asked of|asked for|asked again|let in|let go|given back|done with|sent on|made of|heard of)\b`)},
	{"is answered", regexp.MustCompile(`\b(?:is|are|was|were|be) answered\b`)},
	{"tells of", regexp.MustCompile(`\b(?:tells?|told|knows?|says?|said|hears?|heard|thinks?) (?:of|so of|nothing of)\b`)},
	{"is there for", regexp.MustCompile(`\b(?:is|are) there (?:for|to be|anew|again|at once)\b|\bstands? (?:in|for itself|there|alone|as it)\b|` +
		`\bas (?:it|they) (?:is|are|was|were|stands?|comes?|came)\b`)},
	{"of which", regexp.MustCompile(`\b(?:of which|to whom|of whom|from whom|by whom|in whose|of whose)\b`)},
	{"the one that", regexp.MustCompile(`\b(?:the ones? (?:who|that|which|of)|those (?:who|of|whose)|that which|one of those)\b`)},
	{"anew", regexp.MustCompile(`\b(?:anew|by turns|for nothing|so to say|as much as|no more than that|nothing but|all but|but for|but of|but in|` +
		`for all that|of its own accord|of old|of late|goes on|go on|went on|makes of|made of|becomes of|became of)\b`)},
	{"two negations", regexp.MustCompile(`\b(?:not|no|never|nothing|nobody|none|cannot)\b[^.;:]{0,40}\b(?:not|no|never|nothing|nobody|none|without|cannot)\b`)},
}

// noSubject matches the declaration of a test, e.g. TestWhatIsLeft, whose name does not
// begin with its subject, as TestReloadKeepsConnections does.
var noSubject = regexp.MustCompile(`^func (Test(?:Whatever|What|Whoever|Whose|Whom|Who)(?:[A-Z0-9_]\w*)?)\(`)

// judge returns the name of the first pattern that a sentence matches, else "".
func judge(sentence string) string {
	for _, p := range patterns {
		if p.is.MatchString(sentence) {
			return p.name
		}
	}
	if len(strings.Fields(sentence)) > longest {
		return long
	}
	return ""
}
