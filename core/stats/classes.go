package stats

import "bytes"

// classLength bounds the name of a class of refusals in bytes.
const classLength = 24

// NameClasses writes down what the engine calls its classes of refusals, by
// class, at most MaxClasses of at most 24 bytes: readers know no engine. The
// engine calls it before its loops run.
func (s *Segment) NameClasses(names ...string) {
	for i := range s.mem.classes {
		var text [classLength]byte
		if i < len(names) {
			copy(text[:], names[i])
		}
		s.mem.classes[i] = text
	}
}

// Classes returns the names of the classes of refusals, by class. A name that
// is no word of lower-case letters, digits and hyphens ends the list: an engine
// in foreign hands must not write into what is made of it.
func (s *Segment) Classes() []string {
	var out []string
	for i := range s.mem.classes {
		text := s.mem.classes[i] // once: it is shared
		name := string(bytes.TrimRight(text[:], "\x00"))
		if !isWord(name) {
			break
		}
		out = append(out, name)
	}
	return out
}

func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != ""
}
