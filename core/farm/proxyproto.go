package farm

// ProxyIn says what a farm does with a header of the PROXY protocol in front of
// a connection, by which a trusted peer tells whose connection it passes on.
type ProxyIn string

// What may be done; the zero value acts as ProxyInOff.
const (
	ProxyInOff      ProxyIn = "off"      // it is bytes like any other
	ProxyInOptional ProxyIn = "optional" // trusted peers may send one, nobody else
	ProxyInRequired ProxyIn = "required" // trusted peers must, others are closed
)

// ProxyIns lists what may be done.
func ProxyIns() []ProxyIn { return []ProxyIn{ProxyInOff, ProxyInOptional, ProxyInRequired} }

// ProxyOut says whether connections to backends begin with a header of the
// PROXY protocol that tells for whom they are. Such a connection is kept for
// that client alone, as a pinned one.
type ProxyOut string

// The headers; the zero value acts as ProxyOutOff.
const (
	ProxyOutOff ProxyOut = "off"
	ProxyOutV1  ProxyOut = "v1" // a line of text
	ProxyOutV2  ProxyOut = "v2" // binary, with what TLS agreed on with the client
)

// ProxyOuts lists the headers.
func ProxyOuts() []ProxyOut { return []ProxyOut{ProxyOutOff, ProxyOutV1, ProxyOutV2} }
