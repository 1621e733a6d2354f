package http1

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
	numKnown
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

// knownNames are the names in lower case; families have none.
var knownNames = [numKnown]string{
	KnownHost:                    "host",
	KnownConnection:              "connection",
	KnownContentLength:           "content-length",
	KnownTransferEncoding:        "transfer-encoding",
	KnownUpgrade:                 "upgrade",
	KnownExpect:                  "expect",
	KnownTE:                      "te",
	KnownTrailer:                 "trailer",
	KnownKeepAlive:               "keep-alive",
	KnownProxyConnection:         "proxy-connection",
	KnownProxyAuthenticate:       "proxy-authenticate",
	KnownProxyAuthenticationInfo: "proxy-authentication-info",
	KnownProxyAuthorization:      "proxy-authorization",
	KnownProxy:                   "proxy",
	KnownHTTP2Settings:           "http2-settings",
	KnownForwarded:               "forwarded",
	KnownXRealIP:                 "x-real-ip",
	KnownXForwardedFor:           "x-forwarded-for",
	KnownXForwardedHost:          "x-forwarded-host",
	KnownXForwardedPort:          "x-forwarded-port",
	KnownXForwardedProto:         "x-forwarded-proto",
	KnownCookie:                  "cookie",
	KnownSetCookie:               "set-cookie",
	KnownAuthorization:           "authorization",
	KnownLocation:                "location",
	KnownContentLocation:         "content-location",
	KnownContentType:             "content-type",
	KnownDate:                    "date",
	KnownServer:                  "server",
	KnownReferer:                 "referer",
	KnownUserAgent:               "user-agent",
}

// candidates finds the only name that a length and a first letter leave
// possible; names that start with x are told apart by knownX.
var candidates = func() (t [32][32]Known) {
	for k := KnownNone + 1; k < numKnown; k++ {
		if n := knownNames[k]; n != "" && n[0] != 'x' {
			if t[len(n)][n[0]&31] != KnownNone {
				panic("http1: two known fields share length and first letter")
			}
			t[len(n)][n[0]&31] = k
		}
	}
	return t
}()

// recognise finds the field called name, a token of at least one byte; kinds
// is the union of the classes of its bytes.
func recognise(name []byte, kinds uint8) Known {
	if kinds&tokenOdd != 0 {
		return knownTwin(name)
	}
	if len(name) >= len(candidates) {
		return knownX(name)
	}
	k := candidates[len(name)][name[0]&31]
	if k == KnownNone {
		if name[0]|0x20 == 'x' {
			return knownX(name)
		}
		return KnownNone
	}
	if !foldIs(name, knownNames[k]) {
		return KnownNone
	}
	return k
}

// knownX tells the names that start with x apart.
func knownX(name []byte) Known {
	if len(name) > len("x-ssl-") && foldIs(name[:6], "x-ssl-") {
		return KnownXSSL
	}
	if len(name) < len("x-forwarded-") || !foldIs(name[:12], "x-forwarded-") {
		if foldIs(name, "x-real-ip") {
			return KnownXRealIP
		}
		return KnownNone
	}
	for k := KnownXForwardedFor; k <= KnownXForwardedProto; k++ {
		if foldIs(name, knownNames[k]) {
			return k
		}
	}
	return KnownXForwarded
}

// knownTwin finds names that CGI-like backends, which turn all punctuation into
// '_', take for a field we drop: X_Forwarded_For, Content.Length.
func knownTwin(name []byte) Known {
	var plain [32]byte
	n := min(len(name), len(plain)) // no name of the table is longer, families are told by their start
	for i, c := range name[:n] {
		if token[c] == tokenOdd {
			c = '-'
		}
		plain[i] = c
	}
	k := recognise(plain[:n], tokenPlain)
	if dropRequest.has(k) || k == KnownExpect {
		return KnownTwin
	}
	return KnownNone
}
