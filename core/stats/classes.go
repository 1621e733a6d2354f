package stats

import (
	"bytes"
	"slices"
)

// classLength is the maximum length of the name of a class of rejections, in bytes.
const classLength = 24

// NameClasses stores the names of the engine's classes of rejections, by class, for
// readers. There are at most MaxClasses names of at most 24 bytes. The engine calls it
// before its loops run.
func (s *Segment) NameClasses(names ...string) {
	for i := range s.mem.classes {
		var text [classLength]byte
		if i < len(names) {
			copy(text[:], names[i])
		}
		s.mem.classes[i] = text
	}
}

// AddClasses adds the class names of a further engine and returns the class of each. An
// existing name keeps its class. Names without room share the last class.
func (s *Segment) AddClasses(names ...string) (classes []int) {
	for _, name := range names {
		known := s.Classes()
		i := slices.Index(known, name)
		if i < 0 {
			i = min(len(known), MaxClasses-1)
			if len(known) < MaxClasses {
				var text [classLength]byte
				copy(text[:], name)
				s.mem.classes[i] = text
			}
		}
		classes = append(classes, i)
	}
	return classes
}

// Classes returns the names of the classes of rejections, by class. The list ends at
// the first name with characters other than lower-case letters, digits and hyphens.
// Otherwise a compromised engine could inject text into output that contains the names.
func (s *Segment) Classes() []string {
	var out []string
	for i := range s.mem.classes {
		text := s.mem.classes[i] // copied, because it is shared
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
