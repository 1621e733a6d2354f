package http1

// Identity is a set of fields that identify the client to a backend.
type Identity uint8

// The fields: X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, Forwarded.
const (
	IdentityFor Identity = 1 << iota
	IdentityProto
	IdentityHost
	IdentityForwarded
)

// IdentityOf returns the member for a field name, or 0.
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

// Trust accepts the client's identity fields, because it is a trusted proxy. The client's
// address is appended to X-Forwarded-For and Forwarded when the head is written. Other
// identity fields are kept if present and set otherwise. Variants and fields listed in
// Connection are never forwarded. Call it after Parse.
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

// Distrust reverts Trust for one kind of field, which is then never forwarded.
func (r *Request) Distrust(k Known) {
	for i := range r.Fields[:r.NumFields] {
		if f := &r.Fields[i]; f.Known == k {
			f.state = f.state&^merged | dropped
		}
	}
}

// appendIdentitySlow is appendIdentity for trusted clients and for rules that set some of
// the fields.
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

// passesOn reports whether a field of that kind is forwarded unchanged.
func (r *Request) passesOn(k Known) bool {
	for i := r.Find(k); i >= 0 && i < r.NumFields; i++ {
		if f := &r.Fields[i]; f.Known == k && f.state&^edited == 0 {
			return true
		}
	}
	return false
}

// appendMerged begins a line with the head's values, as a list to be continued.
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
