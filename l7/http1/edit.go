package http1

import "github.com/sluicelb/sluice/core/ascii"

// state is the treatment of a field line when its head is written; 0 means that it is copied
// unchanged.
type state uint8

const (
	dropped state = 1 << iota // hop-by-hop, written by us, or forgeable
	removed                   // by Remove
	edited                    // by Edit: Head.values holds its new value
	named                     // listed in Connection
	merged                    // part of a line we write: see Request.Trust
)

// Dropped reports whether the line is never forwarded, regardless of rules.
func (f *Field) Dropped() bool { return f.state&dropped != 0 }

// Removed reports whether Remove removed the line.
func (f *Field) Removed() bool { return f.state&removed != 0 }

func (f *Field) drop(it bool) {
	f.state &^= dropped
	if it {
		f.state |= dropped
	}
}

// fixed fields are off limits for rules: they frame the message, belong to one hop, or
// select the route.
var fixed = dropResponse | maskOf(KnownHost, KnownExpect)

// Fixed reports whether rules must not touch fields of this name: framing and hop-by-hop
// fields, Host, Expect, variants that backends cannot distinguish from them
// (Content_Length), and invalid names.
func Fixed(name []byte) bool {
	plain, n := plainName(name)
	k, _ := recognise(plain[:], n)
	return !isToken(name) || fixed.has(k)
}

// Remove removes field i until the head is parsed again: it is neither found nor forwarded.
// It returns false for fields that rules must not touch.
func (h *Head) Remove(i int) bool {
	f := &h.Fields[i]
	if fixed.has(f.Known) {
		return false
	}
	f.state |= removed
	if h.have.has(f.Known) && int(h.first[f.Known&63]) == i {
		h.findNext(f.Known, i+1)
	}
	return true
}

// findNext updates Find to the first field of a kind from index i on.
func (h *Head) findNext(k Known, i int) {
	for ; i < h.NumFields; i++ {
		if f := &h.Fields[i]; f.Known == k && f.state&removed == 0 {
			h.first[k&63] = uint8(i)
			return
		}
	}
	h.have &^= 1 << (k & 63)
}

// RemoveNamed removes the fields of a name and its variants, see SameName.
func (h *Head) RemoveNamed(name []byte) {
	for i := range h.NumFields {
		if SameName(h.Name(i), name) {
			h.Remove(i)
		}
	}
}

// SameName reports whether two field names are equal apart from case and punctuation. Many
// backends ignore these: X_Internal is X-Internal to them.
func SameName(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if c, d := a[i], b[i]; c != d && ascii.Lower(c) != ascii.Lower(d) && (token[c] == tokenPlain && c != '-' || token[d] == tokenPlain && d != '-') {
			return false
		}
	}
	return true
}

// Edit replaces the value of field i. v is borrowed until the head is written. It returns
// false for fields that rules must not touch.
func (h *Head) Edit(i int, v Value) bool {
	f := &h.Fields[i]
	if fixed.has(f.Known) {
		return false
	}
	f.state |= edited
	h.values[i] = v.b
	return true
}

// Visible reports whether rules may see field i. They do not see removed fields and forgeable
// identity fields.
func (h *Head) Visible(i int) bool {
	f := &h.Fields[i]
	return f.state == 0 || f.state&removed == 0 && !(f.state&dropped != 0 && identity.has(f.Known))
}

// Line returns field i as "Name: value". It is a slice of the buffer if it has that form
// there. Otherwise it is written to space, and grown is the array to reuse; grown may be
// nil.
func (h *Head) Line(i int, space []byte) (line, grown []byte) {
	f := &h.Fields[i]
	if f.state&edited == 0 && f.Value.Off == f.Name.End+2 && h.Buf[f.Name.End+1] == ' ' {
		return h.Buf[f.Name.Off:f.Value.End], nil
	}
	space = append(space[:0], h.Name(i)...)
	space = append(space, ": "...)
	space = append(space, h.Value(i)...)
	return space, space
}

// Value is a field value without line breaks or other control bytes. The zero Value stands
// for no value.
type Value struct{ b []byte }

// CheckValue returns b, which is borrowed, as a Value. ok is false if b contains a control
// byte other than a tab.
func CheckValue(b []byte) (v Value, ok bool) {
	if textEnd(b) < len(b) {
		return Value{}, false
	}
	return Value{b[:len(b):len(b)]}, true
}

// AppendField appends the line "name: value CRLF". The name is not checked.
func AppendField(dst []byte, name string, v Value) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, v.b...)
	return append(dst, "\r\n"...)
}
