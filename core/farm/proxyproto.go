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
