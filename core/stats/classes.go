package stats

import (
	"bytes"
	"slices"
)

// classLength bounds the name of a class of rejections in bytes.
const classLength = 24

// NameClasses writes down what the engine calls its classes of rejections, by
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

// AddClasses adds names to those of NameClasses, for an engine beside the one
// that called it, and returns the class of each: that of the same name where
// there is one. A name without room shares the last class.
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

// Classes returns the names of the classes of rejections, by class. A name that
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
