package farm

// BackendProtocol is what the backends of a service speak.
type BackendProtocol string

// The protocols. With httpsb h2 is agreed on by ALPN, without it the backends
// know beforehand (RFC 9113 section 3.3).
const (
	BackendHTTP1 BackendProtocol = "http1" // what empty means
	BackendHTTP2 BackendProtocol = "h2"
)

// BackendProtocols lists them, the default first.
func BackendProtocols() []BackendProtocol { return []BackendProtocol{BackendHTTP1, BackendHTTP2} }

// Multiplexed reports whether the backends speak HTTP/2: exchanges then share
// connections.
func (s *Service) Multiplexed() bool { return s.BackendProtocol == BackendHTTP2 }
