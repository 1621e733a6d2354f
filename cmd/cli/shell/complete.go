package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Offer is a possible completion of a word with its description.
type Offer struct{ Word, About string }

// Offers are the possible completions of the last word of a line.
type Offers struct {
	Words []Offer
	// Open means that the word continues after a completion, e.g. NAME=.
	Open bool
	// Files means that file names are completed if there are no other offers.
	Files bool
}

// complete extends the line before the cursor by the common prefix of all offers, and shows
// the offers if that is empty.
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

// files returns the files whose names begin with start.
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

// table formats offers: one per line with descriptions, otherwise in columns.
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
