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
	KnownProxy // CGI backends mistake it for the variable HTTP_PROXY
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
