package http1

import (
	"encoding/binary"

	"github.com/sluicelb/sluice/core/farm"
)

// Request is the head of a request. It is large: keep one per loop and reuse it.
//
// Upgrade means that the client asks for another protocol by Connection:
// upgrade and one Upgrade field with one protocol, on HTTP/1.1 and without a
// body. Upgrades to HTTP/2 or TLS are not offered: they would carry requests
// past us.
type Request struct {
	Head

	Method Span
	Verb   Verb
	Target Span // as the client sent it

	// Path is the canonical path and query, or "*": what routes are matched on
	// and what the backend gets. It aliases Buf when the target was canonical
	// already, else an array of r; either way it is valid until the next Parse.
	Path []byte
	// Host is the canonical authority: lower case, without a trailing dot,
	// with the port when the client gave one. Empty only on HTTP/1.0. Valid as
	// long as Path.
	Host []byte

	Expect100  bool // the client waits for 100 before it sends the body
	TETrailers bool // the client accepts trailers (TE: trailers, named by Connection)

	simple  bool // Target is canonical as it stands
	trusted bool // see Trust
	path    [MaxTarget]byte
	host    [maxAuthority]byte
	other   [maxAuthority]byte // authority of an absolute target
}

// Parse reads a request head from the start of b. It answers the number of
// bytes of the head, or 0 and nil when b does not hold all of it: call it again
// with the same bytes and more (b may have moved). Errors are *Error and final
// for the connection. After a whole head or an error the next call starts a new
// head. r.Buf aliases b afterwards; all other fields are valid only after a
// whole head.
func (r *Request) Parse(b []byte) (n int, err error) {
	if r.waits(b) {
		return 0, nil
	}
	n, err = r.parse(b[:min(len(b), MaxHead)])
	return r.result(b, n, err)
}

// parse is Parse within the limit of a head. Lines that were read stay read;
// an error makes n void.
func (r *Request) parse(b []byte) (n int, err error) {
	if r.next == 0 {
		r.begin()
		if r.next, err = r.requestLine(b); r.next == 0 || err != nil {
			return 0, err
		}
	}
	if n, err = r.parseFields(b, r.next, dropRequest, false); n == 0 || err != nil {
		return 0, err
	}
	return n, r.finish()
}

// requestLine reads "METHOD SP target SP HTTP/1.x CRLF" and answers where the
// next line starts, 0 when bytes are missing.
func (r *Request) requestLine(b []byte) (int, error) {
	i := 0
	if len(b) > 0 && b[0] == '\r' { // one empty line left over by an old client
		if len(b) < 2 {
			return 0, nil
		}
		if b[1] != '\n' {
			return 0, ErrLineEnd
		}
		i = 2
	}
	start := i
	for i < len(b) && token[b[i]] != tokenNot {
		if i-start == MaxMethod {
			return 0, ErrMethodTooLong
		}
		i++
	}
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ' ' || i == start {
		return 0, ErrRequestLine
	}
	r.Method = Span{uint32(start), uint32(i)}
	i++
	start = i
	i, r.simple = targetEnd(b, i)
	if i-start > MaxTarget {
		return 0, ErrTargetTooLong
	}
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ' ' {
		return 0, ErrTargetByte
	}
	if i == start {
		return 0, ErrTarget
	}
	r.Target = Span{uint32(start), uint32(i)}
	i++
	const line = len("HTTP/1.1\r\n")
	if len(b)-i < line || b[i+8] != '\r' || b[i+9] != '\n' {
		return 0, versionError(b[i:])
	}
	switch binary.LittleEndian.Uint64(b[i:]) {
	case http11:
		r.Minor = 1
	case http10:
		r.Minor = 0
	default:
		return 0, versionError(b[i:])
	}
	return i + line, nil
}

// The two versions as little-endian numbers.
const (
	http1x = 'H' | 'T'<<8 | 'T'<<16 | 'P'<<24 | '/'<<32 | '1'<<40 | '.'<<48
	http11 = http1x | '1'<<56
	http10 = http1x | '0'<<56
)

// versionError says why b does not start with a version we speak and CRLF; nil
// means that bytes are missing.
func versionError(b []byte) error {
	const form = "HTTP/0.0\r\n"
	for i := 0; i < len(form) && i < len(b); i++ {
		switch c := b[i]; {
		case form[i] == '0' && '0' <= c && c <= '9', c == form[i]:
		case i >= 8 && c == '\n', i == 9:
			return ErrLineEnd
		default:
			return ErrVersion
		}
	}
	if len(b) < len(form) {
		return nil
	}
	return ErrVersionUnknown
}

// finish decides what the fields of a whole head mean.
func (r *Request) finish() error {
	r.Expect100, r.TETrailers, r.trusted = false, false, false
	method := r.Method.Of(r.Buf)
	r.Verb = verbOf(method)
	if r.Verb == VerbOther && string(method) == "CONNECT" {
		return ErrConnect
	}
	if err := r.framing(); err != nil {
		return err
	}
	options, err := r.connection()
	if err != nil {
		return err
	}
	if err := r.findHost(); err != nil {
		return err
	}
	if r.simple {
		r.Path = r.Target.Of(r.Buf)
	} else if err := r.canonical(); err != nil {
		return err
	}
	const rare = 1<<KnownUpgrade | 1<<KnownExpect | 1<<KnownTE
	if r.have&rare != 0 || r.Verb == VerbTRACE {
		return r.finishRare(options)
	}
	return nil
}

// finishRare sees to Upgrade, Expect, TE and the method TRACE.
func (r *Request) finishRare(options uint8) error {
	body := r.Body() != BodyNone
	if r.Verb == VerbTRACE && body {
		return ErrTraceBody
	}
	if i := r.Find(KnownUpgrade); i >= 0 {
		r.Upgrade = r.Minor == 1 && options&optUpgrade != 0 && !body &&
			!r.twice.has(KnownUpgrade) && offered(r.Value(i))
		r.Fields[i].drop(!r.Upgrade)
	}
	if i := r.Find(KnownTE); i >= 0 {
		r.TETrailers = r.Minor == 1 && options&optTE != 0 && hasTrailers(r.Value(i))
	}
	if i := r.Find(KnownExpect); i >= 0 {
		if r.Minor == 1 && (r.twice.has(KnownExpect) || !foldIsText(r.Value(i), "100-continue")) {
			return ErrExpect
		}
		// To be ignored on HTTP/1.0; nothing to wait for without a body
		// (RFC 9110 section 10.1.1). We send HTTP/1.1, so it must not go on.
		r.Expect100 = r.Minor == 1 && body
		for ; i < r.NumFields; i++ {
			if r.Fields[i].Known == KnownExpect {
				r.Fields[i].drop(!r.Expect100)
			}
		}
	}
	return nil
}

// offered reports whether the Upgrade value v is a single protocol we let
// through. HTTP and TLS over the same connection would hide requests from us.
func offered(v []byte) bool {
	i := 0
	for i < len(v) && token[v[i]] != tokenNot {
		i++
	}
	if name := v[:i]; i == 0 || foldIs(name, "h2c") || foldIs(name, "h2") || foldIs(name, "http") || foldIs(name, "tls") {
		return false
	}
	return i == len(v) || v[i] == '/' && isToken(v[i+1:])
}

// hasTrailers reports whether the TE value v lists trailers.
func hasTrailers(v []byte) bool {
	for len(v) > 0 {
		i := 0
		for i < len(v) && v[i] != ',' {
			i++
		}
		if foldIs(trim(v[:i]), "trailers") {
			return true
		}
		v = v[min(i+1, len(v)):]
	}
	return false
}

// Body says how the body of the request is framed: BodyNone, BodyLength
// (ContentLength bytes, at least one) or BodyChunked.
func (r *Request) Body() Body {
	switch {
	case r.Chunked:
		return BodyChunked
	case r.ContentLength > 0:
		return BodyLength
	}
	return BodyNone
}

// DropExpect keeps the expectation of 100-continue from being passed on.
func (r *Request) DropExpect() {
	r.Expect100 = false
	for i := range r.Fields[:r.NumFields] {
		if f := &r.Fields[i]; f.Known == KnownExpect {
			f.drop(true)
		}
	}
}

// Verb is a request method we know by name. Methods are case-sensitive.
type Verb uint8

// The verbs of the farm's sets. CONNECT has none: Parse refuses it.
const (
	VerbOther Verb = iota
	VerbGET
	VerbPOST
	VerbHEAD
	VerbPUT
	VerbPATCH
	VerbDELETE
	VerbOPTIONS
	VerbTRACE
	VerbLOCK
	VerbUNLOCK
	VerbPROPFIND
	VerbPROPPATCH
	VerbSEARCH
	VerbMKCOL
	VerbMOVE
	VerbCOPY
	VerbMKACTIVITY
	VerbCHECKOUT
	VerbMERGE
	VerbREPORT
	VerbSUBSCRIBE
	VerbUNSUBSCRIBE
	VerbNOTIFY
	VerbBPROPFIND
	VerbBPROPPATCH
	VerbPOLL
	VerbBMOVE
	VerbBCOPY
	VerbBDELETE
	VerbRPCInData
	VerbRPCOutData
	numVerbs
)

var verbNames = [numVerbs]string{
	VerbGET:         "GET",
	VerbPOST:        "POST",
	VerbHEAD:        "HEAD",
	VerbPUT:         "PUT",
	VerbPATCH:       "PATCH",
	VerbDELETE:      "DELETE",
	VerbOPTIONS:     "OPTIONS",
	VerbTRACE:       "TRACE",
	VerbLOCK:        "LOCK",
	VerbUNLOCK:      "UNLOCK",
	VerbPROPFIND:    "PROPFIND",
	VerbPROPPATCH:   "PROPPATCH",
	VerbSEARCH:      "SEARCH",
	VerbMKCOL:       "MKCOL",
	VerbMOVE:        "MOVE",
	VerbCOPY:        "COPY",
	VerbMKACTIVITY:  "MKACTIVITY",
	VerbCHECKOUT:    "CHECKOUT",
	VerbMERGE:       "MERGE",
	VerbREPORT:      "REPORT",
	VerbSUBSCRIBE:   "SUBSCRIBE",
	VerbUNSUBSCRIBE: "UNSUBSCRIBE",
	VerbNOTIFY:      "NOTIFY",
	VerbBPROPFIND:   "BPROPFIND",
	VerbBPROPPATCH:  "BPROPPATCH",
	VerbPOLL:        "POLL",
	VerbBMOVE:       "BMOVE",
	VerbBCOPY:       "BCOPY",
	VerbBDELETE:     "BDELETE",
	VerbRPCInData:   "RPC_IN_DATA",
	VerbRPCOutData:  "RPC_OUT_DATA",
}

// String gives the method, "" for VerbOther.
func (v Verb) String() string { return verbNames[v] }

// Idempotent reports whether RFC 9110 section 9.2.2 lets a request with v be
// repeated after its connection failed.
func (v Verb) Idempotent() bool {
	const set = 1<<VerbGET | 1<<VerbHEAD | 1<<VerbPUT | 1<<VerbDELETE | 1<<VerbOPTIONS | 1<<VerbTRACE |
		1<<VerbPROPFIND | 1<<VerbSEARCH | 1<<VerbREPORT
	return v.In(set)
}

// verbOf finds the verb of a method. The first cases are nearly all of the
// traffic; the rest is looked up in order of the table.
func verbOf(method []byte) Verb {
	switch string(method) {
	case "GET":
		return VerbGET
	case "POST":
		return VerbPOST
	case "HEAD":
		return VerbHEAD
	}
	for v := VerbPUT; v < numVerbs; v++ {
		if string(method) == verbNames[v] {
			return v
		}
	}
	return VerbOther
}

// VerbMask is a set of verbs, one bit each.
type VerbMask uint64

// In reports whether set holds v. VerbOther is in no set.
func (v Verb) In(set VerbMask) bool { return set>>v&1 != 0 }

// VerbMaskOf gives the verbs of a farm's set, as the family's directive xHTTP
// lists them; a set without a known name is empty. CONNECT, which the family
// counts among the Microsoft extensions, is refused before the set is asked.
func VerbMaskOf(set farm.VerbSet) VerbMask {
	const (
		standard = 1<<VerbGET | 1<<VerbPOST | 1<<VerbHEAD
		extended = standard | 1<<VerbPUT | 1<<VerbPATCH | 1<<VerbDELETE
		webDAV   = extended | 1<<VerbOPTIONS | 1<<VerbTRACE | 1<<VerbLOCK | 1<<VerbUNLOCK |
			1<<VerbPROPFIND | 1<<VerbPROPPATCH | 1<<VerbSEARCH | 1<<VerbMKCOL | 1<<VerbMOVE |
			1<<VerbCOPY | 1<<VerbMKACTIVITY | 1<<VerbCHECKOUT | 1<<VerbMERGE | 1<<VerbREPORT
		microsoft = webDAV | 1<<VerbSUBSCRIBE | 1<<VerbUNSUBSCRIBE | 1<<VerbNOTIFY |
			1<<VerbBPROPFIND | 1<<VerbBPROPPATCH | 1<<VerbPOLL | 1<<VerbBMOVE | 1<<VerbBCOPY | 1<<VerbBDELETE
		rpc = microsoft | 1<<VerbRPCInData | 1<<VerbRPCOutData
	)
	switch set {
	case farm.VerbsStandard:
		return standard
	case farm.VerbsExtended:
		return extended
	case farm.VerbsWebDAV:
		return webDAV
	case farm.VerbsMSWebDAV:
		return microsoft
	case farm.VerbsMSRPCExt:
		return rpc
	case farm.VerbsOptionsHTTP:
		return extended | 1<<VerbOPTIONS
	}
	return 0
}
