package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Offer is one thing a word may become, with what it is.
type Offer struct{ Word, About string }

// Offers are what the last word of a line may become.
type Offers struct {
	Words []Offer
	// Open says that a word goes on behind what is offered, as NAME=.
	Open bool
	// Files says that names of files are meant when nothing is offered.
	Files bool
}

// complete makes the line before the cursor longer by what all offers have in common, and
// shows the offers when that is nothing.
func (s *Shell) complete(before string, columns int) (instead, shown string) {
	words, within, err := split(before)
	if err != nil && err != errOpen {
		return before, ""
	}
	begin, last := len(before), ""
	if within {
		begin, last = words[len(words)-1].begin, words[len(words)-1].text
		words = words[:len(words)-1]
	}
	asked := texts(words)
	if len(asked) > 0 && asked[0] == s.Name {
		asked = asked[1:]
	}
	offers := s.Complete(asked, last)
	if len(offers.Words) == 0 && offers.Files {
		offers = files(last)
	}
	offers.Words = slices.DeleteFunc(offers.Words, func(o Offer) bool { return !strings.HasPrefix(o.Word, last) })
	switch len(offers.Words) {
	case 0:
		return before, ""
	case 1:
		whole := before[:begin] + Quote(offers.Words[0].Word)
		if !offers.Open {
			whole += " "
		}
		return whole, ""
	}
	if common := commonStart(offers.Words); len(common) > len(last) {
		return before[:begin] + Quote(common), ""
	}
	return before, table(offers.Words, columns)
}

func commonStart(offers []Offer) string {
	common := offers[0].Word
	for _, o := range offers[1:] {
		for !strings.HasPrefix(o.Word, common) {
			_, size := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-size]
		}
	}
	return common
}

// files are the files whose names begin so.
func files(start string) Offers {
	dir, name := filepath.Split(start)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return Offers{}
	}
	out := Offers{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) || name == "" && e.Name()[0] == '.' {
			continue
		}
		word := dir + e.Name()
		if e.IsDir() {
			word, out.Open = word+"/", true
		}
		out.Words = append(out.Words, Offer{Word: word})
	}
	if len(out.Words) > 1 {
		out.Open = false
	}
	return out
}

// table lists offers: with what they are in a line each, and alone in columns.
func table(offers []Offer, columns int) string {
	widest, about := 0, false
	for _, o := range offers {
		widest = max(widest, utf8.RuneCountInString(o.Word))
		about = about || o.About != ""
	}
	if columns <= 0 {
		columns = 80
	}
	across := 1
	if !about {
		across = max(1, columns/(widest+2))
	}
	var out strings.Builder
	for i, o := range offers {
		cell := o.Word + strings.Repeat(" ", widest-utf8.RuneCountInString(o.Word)+2) + o.About
		if runes := []rune(cell); len(runes) > columns-1 && about {
			cell = string(runes[:columns-1])
		}
		out.WriteString(cell)
		if (i+1)%across == 0 || i+1 == len(offers) {
			line := strings.TrimRight(out.String(), " ")
			out.Reset()
			out.WriteString(line + "\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
