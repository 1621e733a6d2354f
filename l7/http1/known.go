package http1

import "encoding/binary"

// Known names the fields the proxy has to recognise.
type Known uint8

// The fields. KnownXForwarded and KnownXSSL stand for whole families.
const (
	KnownNone Known = iota
	KnownHost
	KnownConnection
	KnownContentLength
	KnownTransferEncoding
	KnownUpgrade
	KnownExpect
	KnownTE
	KnownTrailer
	KnownKeepAlive
	KnownProxyConnection
	KnownProxyAuthenticate
	KnownProxyAuthenticationInfo
	KnownProxyAuthorization
	KnownProxy // CGI backends mistake it for their variable HTTP_PROXY
	KnownHTTP2Settings
	KnownForwarded
	KnownXRealIP
	KnownXForwardedFor
	KnownXForwardedHost
	KnownXForwardedPort
	KnownXForwardedProto
	KnownXForwarded // any other X-Forwarded-*
	KnownXSSL       // X-SSL-*
	KnownTwin       // differs from a field we drop only in punctuation, as X_Forwarded_For does
	KnownCookie
	KnownSetCookie
	KnownAuthorization
	KnownLocation
	KnownContentLocation
	KnownContentType
	KnownDate
	KnownServer
	KnownReferer
	KnownUserAgent
	KnownSTS
	numKnown // at most 64, see mask
)

// mask is a set of Known values, one bit each.
type mask uint64

func (m mask) has(k Known) bool { return m>>(k&63)&1 != 0 }

func maskOf(ks ...Known) (m mask) {
	for _, k := range ks {
		m |= 1 << k
	}
	return m
}

var (
	// dropResponse is hop-by-hop or written by us: never copied.
	dropResponse = maskOf(KnownConnection, KnownContentLength, KnownTransferEncoding, KnownUpgrade,
		KnownTE, KnownTrailer, KnownKeepAlive, KnownProxyConnection, KnownProxyAuthenticate,
		KnownProxyAuthenticationInfo, KnownProxyAuthorization, KnownProxy, KnownHTTP2Settings)
	// identity is what a client could forge to look like someone else.
	identity = maskOf(KnownForwarded, KnownXRealIP, KnownXForwardedFor, KnownXForwardedHost,
		KnownXForwardedPort, KnownXForwardedProto, KnownXForwarded, KnownXSSL, KnownTwin)
	dropRequest = dropResponse | identity | maskOf(KnownHost)
	// forbiddenTrailer would change what was decided from the head.
	forbiddenTrailer = dropRequest | maskOf(KnownExpect, KnownCookie, KnownSetCookie, KnownAuthorization)
	// unnamed fields are not removed because Connection names them: what they
	// say was already decided on.
	unnamed = maskOf(KnownHost, KnownContentLength, KnownTransferEncoding, KnownExpect)
)

// names are the names we recognise at sight, in lower case. Those without a
// number are only common: a match spares them the check of every byte.
var names = []struct {
	name  string
	known Known
}{
	{"host", KnownHost},
	{"connection", KnownConnection},
	{"content-length", KnownContentLength},
	{"transfer-encoding", KnownTransferEncoding},
	{"upgrade", KnownUpgrade},
	{"expect", KnownExpect},
	{"te", KnownTE},
	{"trailer", KnownTrailer},
	{"keep-alive", KnownKeepAlive},
	{"proxy-connection", KnownProxyConnection},
	{"proxy-authenticate", KnownProxyAuthenticate},
	{"proxy-authentication-info", KnownProxyAuthenticationInfo},
	{"proxy-authorization", KnownProxyAuthorization},
	{"proxy", KnownProxy},
	{"http2-settings", KnownHTTP2Settings},
	{"forwarded", KnownForwarded},
	{"x-real-ip", KnownXRealIP},
	{"x-forwarded-for", KnownXForwardedFor},
	{"x-forwarded-host", KnownXForwardedHost},
	{"x-forwarded-port", KnownXForwardedPort},
	{"x-forwarded-proto", KnownXForwardedProto},
	{"cookie", KnownCookie},
	{"set-cookie", KnownSetCookie},
	{"authorization", KnownAuthorization},
	{"location", KnownLocation},
	{"content-location", KnownContentLocation},
	{"content-type", KnownContentType},
	{"date", KnownDate},
	{"server", KnownServer},
	{"referer", KnownReferer},
	{"user-agent", KnownUserAgent},
	{"strict-transport-security", KnownSTS},

	{name: "accept"}, {name: "accept-encoding"}, {name: "accept-language"}, {name: "accept-ranges"},
	{name: "age"}, {name: "cache-control"}, {name: "content-encoding"}, {name: "etag"}, {name: "expires"},
	{name: "if-modified-since"}, {name: "if-none-match"}, {name: "last-modified"}, {name: "link"},
	{name: "origin"}, {name: "pragma"}, {name: "priority"}, {name: "range"}, {name: "sec-ch-ua"},
	{name: "sec-ch-ua-mobile"}, {name: "sec-ch-ua-platform"}, {name: "sec-fetch-dest"}, {name: "sec-fetch-mode"},
	{name: "sec-fetch-site"}, {name: "sec-fetch-user"},
	{name: "upgrade-insecure-requests"}, {name: "vary"}, {name: "via"}, {name: "x-request-id"},
	{name: "x-requested-with"},
}

// maxName is the length of the longest of names, and a bit more: four words.
const maxName = 32

// entry is a name in the form it is compared in, eight bytes at a time. Bits
// that are not in care may differ: the case of letters, what follows the name.
type entry struct {
	word, care [maxName / 8]uint64
	len        uint8
	known      Known
}

// entries is a perfect hash table of names: at most one of them has a slot. The
// multiplier of slot was found by trial; a collision shows at start-up.
var entries = func() (table [256]entry) {
	for _, n := range names {
		var text, care [maxName]byte
		for i := range len(n.name) {
			text[i], care[i] = n.name[i], 0xff
			if c := n.name[i]; 'a' <= c && c <= 'z' {
				care[i] = 0xff &^ 0x20
			}
		}
		e := &table[slot([]byte(n.name), len(n.name))]
		if e.len != 0 {
			panic("http1: " + n.name + " shares its slot")
		}
		e.len, e.known = uint8(len(n.name)), n.known
		for w := range e.word {
			e.word[w] = binary.LittleEndian.Uint64(text[8*w:])
			e.care[w] = binary.LittleEndian.Uint64(care[8*w:])
		}
	}
	return table
}()

// slot hashes the name b[:n] of at least two bytes by its length and its ends,
// whatever its case.
func slot(b []byte, n int) uint8 {
	ends := uint32(binary.LittleEndian.Uint16(b[n-2:n]))&0x1f1f | uint32(b[0]&0x1f)<<16 | uint32(n)<<24
	return uint8(ends * 0xc63bfbe9 >> 24)
}

// recognise finds the field whose name is b[:n], which may be any bytes; ok
// tells that they are a token. It reads on after the name where it can.
func recognise(b []byte, n int) (k Known, ok bool) {
	if n < 2 || n > maxName {
		return recogniseSlow(b[:n])
	}
	e := &entries[slot(b, n)]
	if int(e.len) != n {
		return recogniseSlow(b[:n])
	}
	if len(b) < maxName { // near the end of the buffer
		var pad [maxName]byte
		copy(pad[:], b)
		b = pad[:]
	}
	w := (*[maxName]byte)(b)
	diff := (binary.LittleEndian.Uint64(w[0:]) ^ e.word[0]) & e.care[0]
	if n > 8 {
		diff |= (binary.LittleEndian.Uint64(w[8:]) ^ e.word[1]) & e.care[1]
	}
	if n > 16 {
		diff |= (binary.LittleEndian.Uint64(w[16:]) ^ e.word[2]) & e.care[2]
		diff |= (binary.LittleEndian.Uint64(w[24:]) ^ e.word[3]) & e.care[3]
	}
	if diff != 0 {
		return recogniseSlow(b[:n])
	}
	return e.known, true
}

// recogniseSlow checks a name that is not in the table, and looks for families
// and twins.
func recogniseSlow(name []byte) (k Known, ok bool) {
	kinds := uint8(0)
	for _, c := range name {
		kinds |= token[c]
	}
	switch {
	case kinds&tokenNot != 0 || len(name) == 0:
		return KnownNone, false
	case kinds&tokenOdd != 0:
		return knownTwin(name), true
	case name[0]|0x20 == 'x':
		return knownX(name), true
	}
	return KnownNone, true
}

// knownX tells the families apart.
func knownX(name []byte) Known {
	switch {
	case len(name) >= 6 && foldIs(name[:6], "x-ssl-"):
		return KnownXSSL
	case len(name) >= 12 && foldIs(name[:12], "x-forwarded-"):
		return KnownXForwarded
	}
	return KnownNone
}

// knownTwin finds names that CGI-like backends, which turn all punctuation into
// '_', take for a field we drop: X_Forwarded_For, Content.Length.
func knownTwin(name []byte) Known {
	plain, n := plainName(name)
	if k, _ := recognise(plain[:], n); dropRequest.has(k) {
		return KnownTwin
	}
	return KnownNone
}

// plainName is a token, or its start, with '-' in place of other punctuation.
func plainName(name []byte) (plain [maxName]byte, n int) {
	n = min(len(name), len(plain)) // no name in the table is longer, families are told by their start
	for i, c := range name[:n] {
		if token[c] == tokenOdd {
			c = '-'
		}
		plain[i] = c
	}
	return plain, n
}
