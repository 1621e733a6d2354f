package http1

import "encoding/binary"

// Known is the kind of a field that the proxy recognises.
type Known uint8

// The fields. KnownXForwarded and KnownXSSL cover all names with that prefix.
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
	KnownProxy // CGI backends confuse it with the variable HTTP_PROXY
	KnownHTTP2Settings
	KnownForwarded
	KnownXRealIP
	KnownXForwardedFor
	KnownXForwardedHost
	KnownXForwardedPort
	KnownXForwardedProto
	KnownXForwarded // any other X-Forwarded-*
	KnownXSSL       // X-SSL-*
	KnownTwin       // differs from a dropped field only in punctuation, e.g. X_Forwarded_For
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
	// dropResponse holds hop-by-hop fields and those written by us. They are never copied.
	dropResponse = maskOf(KnownConnection, KnownContentLength, KnownTransferEncoding, KnownUpgrade,
		KnownTE, KnownTrailer, KnownKeepAlive, KnownProxyConnection, KnownProxyAuthenticate,
		KnownProxyAuthenticationInfo, KnownProxyAuthorization, KnownProxy, KnownHTTP2Settings)
	// identity holds the fields that a client could forge to impersonate another.
	identity = maskOf(KnownForwarded, KnownXRealIP, KnownXForwardedFor, KnownXForwardedHost,
		KnownXForwardedPort, KnownXForwardedProto, KnownXForwarded, KnownXSSL, KnownTwin)
	dropRequest = dropResponse | identity | maskOf(KnownHost)
	// forbiddenTrailer holds the fields that would contradict decisions made from the head.
	forbiddenTrailer = dropRequest | maskOf(KnownExpect, KnownCookie, KnownSetCookie, KnownAuthorization)
	// unnamed fields are kept even if Connection lists them, because they have already been
	// evaluated.
	unnamed = maskOf(KnownHost, KnownContentLength, KnownTransferEncoding, KnownExpect)
)

// names holds the names with a fast match, in lower case. Names without a kind are just
// common; a match avoids the check of every byte.
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

// maxName is the maximum length of names, rounded up to four words.
const maxName = 32

// entry is a name prepared for comparison, eight bytes at a time. Bits outside care may
// differ: the case of letters, and bytes after the name.
type entry struct {
	word, care [maxName / 8]uint64
	len        uint8
	known      Known
}

// entries is a perfect hash table of names. The multiplier of slot was found by trial; a
// collision panics at start-up.
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
