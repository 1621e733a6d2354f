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
