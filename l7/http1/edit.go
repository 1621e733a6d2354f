package http1

// state says what happens to a field line when its head is written; 0 means
// that it is copied as it stands.
type state uint8

const (
	dropped state = 1 << iota // hop-by-hop, written by us, or forgeable
	removed                   // by Remove
	edited                    // by Edit: Head.values holds what it says now
	named                     // dropped because Connection names it
	merged                    // part of a line we write: see Request.Trust
)

// Dropped reports whether the line is never forwarded, whatever rules say.
func (f *Field) Dropped() bool { return f.state&dropped != 0 }

// Removed reports whether Remove took the line out.
func (f *Field) Removed() bool { return f.state&removed != 0 }

func (f *Field) drop(it bool) {
	f.state &^= dropped
	if it {
		f.state |= dropped
	}
}

// fixed fields are no business of rules: they frame the message, belong to one
// hop, or say where the request goes.
var fixed = dropResponse | maskOf(KnownHost, KnownExpect)

// Fixed reports whether rules must leave fields of this name alone: it frames
// the message, belongs to one hop, or is Host or Expect; so are the twins
// backends cannot tell from them (Content_Length), and what is no token.
func Fixed(name []byte) bool {
	plain, n := plainName(name)
	k, _ := recognise(plain[:], n)
	return !isToken(name) || fixed.has(k)
}

// Remove takes field i out: it is neither found nor forwarded any more. It does
// nothing and answers false for a field rules must leave alone. Until the head
// is parsed again.
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

// findNext makes the first field of a kind from index i on the one Find gives.
func (h *Head) findNext(k Known, i int) {
	for ; i < h.NumFields; i++ {
		if f := &h.Fields[i]; f.Known == k && f.state&removed == 0 {
			h.first[k&63] = uint8(i)
			return
		}
	}
	h.have &^= 1 << (k & 63)
}

// RemoveNamed takes out the fields of a name, and those that backends cannot tell
// from them: see SameName.
func (h *Head) RemoveNamed(name []byte) {
	for i := range h.NumFields {
		if SameName(h.Name(i), name) {
			h.Remove(i)
		}
	}
}

// SameName reports whether two field names are the same but for case and
// punctuation, which many backends ignore: X_Internal is X-Internal to them.
func SameName(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if c, d := a[i], b[i]; c != d && lower(c) != lower(d) && (token[c] == tokenPlain && c != '-' || token[d] == tokenPlain && d != '-') {
			return false
		}
	}
	return true
}

// Edit gives field i another value, which is borrowed until the head was
// written. It does nothing and answers false for a field rules must leave alone.
func (h *Head) Edit(i int, v Value) bool {
	f := &h.Fields[i]
	if fixed.has(f.Known) {
		return false
	}
	f.state |= edited
	h.values[i] = v.b
	return true
}

// Visible reports whether rules may see field i: it was not removed, and is
// nothing a client could forge.
func (h *Head) Visible(i int) bool {
	f := &h.Fields[i]
	return f.state == 0 || f.state&removed == 0 && !(f.state&dropped != 0 && identity.has(f.Known))
}

// Line gives field i as "Name: value", in the buffer if it stands there in
// that form, else in space, which grows as needed: what is given is its array
// to use from then on, unless it is nil.
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

// Value is a field value that cannot break out of its line. The zero Value
// stands for no value.
type Value struct{ b []byte }

// CheckValue makes a Value of b, which is borrowed; false when b holds a
// control byte other than a tab.
func CheckValue(b []byte) (v Value, ok bool) {
	if textEnd(b) < len(b) {
		return Value{}, false
	}
	return Value{b[:len(b):len(b)]}, true
}

// AppendField appends the line "name: value CRLF". The name is ours, so it is
// trusted.
func AppendField(dst []byte, name string, v Value) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, v.b...)
	return append(dst, "\r\n"...)
}
