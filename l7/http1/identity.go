package http1

// Identity is a set of the fields by which we tell a backend who the client is.
type Identity uint8

// The fields: X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, Forwarded.
const (
	IdentityFor Identity = 1 << iota
	IdentityProto
	IdentityHost
	IdentityForwarded
)

// IdentityOf gives the member a field of this name is, 0 for any other.
func IdentityOf(name []byte) Identity {
	switch k, _ := recogniseWhole(name[:min(len(name), trailerNameBytes)]); k {
	case KnownXForwardedFor:
		return IdentityFor
	case KnownXForwardedProto:
		return IdentityProto
	case KnownXForwardedHost:
		return IdentityHost
	case KnownForwarded:
		return IdentityForwarded
	}
	return 0
}

// Trust takes what the client says of identities for true: it is a proxy we
// know. X-Forwarded-For and Forwarded get its address appended when the head is
// written, of the others what is there stays, and what is not is ours. Twins,
// and what Connection names, go on for nobody. Call it after Parse.
func (r *Request) Trust() {
	r.trusted = true
	for i := range r.Fields[:r.NumFields] {
		f := &r.Fields[i]
		if !identity.has(f.Known) || f.Known == KnownTwin || f.state&named != 0 {
			continue
		}
		f.state &^= dropped
		if f.Known == KnownXForwardedFor || f.Known == KnownForwarded {
			f.state |= merged
		}
	}
}

// Distrust takes back what Trust did to fields of one kind: they go on for
// nobody.
func (r *Request) Distrust(k Known) {
	for i := range r.Fields[:r.NumFields] {
		if f := &r.Fields[i]; f.Known == k {
			f.state = f.state&^merged | dropped
		}
	}
}

// appendIdentitySlow is appendIdentity for clients that are trusted and for
// rules that give some of the fields.
func (r *Request) appendIdentitySlow(dst []byte, f *Forward) []byte {
	if f.Given&IdentityFor == 0 && len(f.ClientIP) > 0 {
		dst = r.appendMerged(dst, "X-Forwarded-For: ", KnownXForwardedFor)
		dst = append(dst, f.ClientIP...)
		dst = append(dst, "\r\n"...)
	}
	if f.Given&IdentityProto == 0 && !r.passesOn(KnownXForwardedProto) {
		dst = appendLine(dst, []byte("X-Forwarded-Proto"), f.Proto)
	}
	if f.Given&IdentityHost == 0 && len(r.Host) > 0 && !r.passesOn(KnownXForwardedHost) {
		dst = appendLine(dst, []byte("X-Forwarded-Host"), r.Host)
	}
	if f.Given&IdentityForwarded == 0 {
		dst = appendForwarded(r.appendMerged(dst, "Forwarded: ", KnownForwarded), r.Host, f)
	}
	return dst
}

// passesOn reports whether a field of that kind goes on as it is.
func (r *Request) passesOn(k Known) bool {
	for i := r.Find(k); i >= 0 && i < r.NumFields; i++ {
		if f := &r.Fields[i]; f.Known == k && f.state&^edited == 0 {
			return true
		}
	}
	return false
}

// appendMerged begins a line with the values the head has, in a list that one
// more is to follow.
func (r *Request) appendMerged(dst []byte, begin string, k Known) []byte {
	dst = append(dst, begin...)
	for i := r.Find(k); i >= 0 && i < r.NumFields; i++ {
		f := &r.Fields[i]
		if f.Known != k || f.state&^edited != merged {
			continue
		}
		if v := r.Value(i); len(v) > 0 {
			dst = append(append(dst, v...), ", "...)
		}
	}
	return dst
}
