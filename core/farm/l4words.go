package farm

// L4Protocol is the protocol of an l4xnat farm.
type L4Protocol string

// Zevenet's protocols. The last four are kept because the contract lists them.
const (
	L4TCP       L4Protocol = "tcp"
	L4UDP       L4Protocol = "udp"
	L4TCPUDP    L4Protocol = "tcp_udp" // both, e.g. for DNS
	L4SCTP      L4Protocol = "sctp"
	L4All       L4Protocol = "all" // every protocol, all ports
	L4SIP       L4Protocol = "sip"
	L4FTP       L4Protocol = "ftp"
	L4TFTP      L4Protocol = "tftp"
	L4H323      L4Protocol = "h323"
	L4PPTP      L4Protocol = "pptp"
	L4SNMP      L4Protocol = "snmp"
	L4Amanda    L4Protocol = "amanda"
	L4IRC       L4Protocol = "irc"
	L4NetBIOSNS L4Protocol = "netbios-ns"
	L4SANE      L4Protocol = "sane"
)

// L4Protocols lists every protocol.
func L4Protocols() []L4Protocol {
	return []L4Protocol{L4TCP, L4UDP, L4TCPUDP, L4SCTP, L4All, L4SIP, L4FTP, L4TFTP, L4H323, L4PPTP, L4SNMP, L4Amanda, L4IRC, L4NetBIOSNS, L4SANE}
}

// Transports returns the transport protocols of a farm of protocol p; for L4All those
// checked for collisions.
func (p L4Protocol) Transports() []L4Protocol {
	switch p {
	case L4TCP, L4FTP, L4PPTP, L4IRC, L4SANE:
		return []L4Protocol{L4TCP}
	case L4UDP, L4TFTP, L4SNMP, L4Amanda, L4NetBIOSNS:
		return []L4Protocol{L4UDP}
	case L4SCTP:
		return []L4Protocol{L4SCTP}
	case L4TCPUDP, L4SIP, L4H323:
		return []L4Protocol{L4TCP, L4UDP}
	}
	return []L4Protocol{L4TCP, L4UDP, L4SCTP}
}

// Helper reports whether the protocol needs a connection tracking helper of the kernel,
// because its payload announces further connections.
func (p L4Protocol) Helper() bool {
	switch p {
	case L4TCP, L4UDP, L4TCPUDP, L4SCTP, L4All:
		return false
	}
	return true
}

// NATType is how addresses of packets are rewritten.
type NATType string

// The NAT types.
const (
	NATMasquerade NATType = "nat"            // backends see the appliance
	NATTarget     NATType = "dnat"           // backends see the client and reply through the appliance
	NATDirect     NATType = "dsr"            // only the MAC is rewritten, backends reply to the client directly
	NATStateless  NATType = "stateless_dnat" // like dnat, without connection tracking
)

// NATTypes lists every NAT type.
func NATTypes() []NATType { return []NATType{NATMasquerade, NATTarget, NATDirect, NATStateless} }

// L4Algorithm is how an l4xnat farm chooses among its backends.
type L4Algorithm string

// The algorithms: Zevenet's first, then those the contract adds (hashing on source or
// destination).
const (
	L4Weight     L4Algorithm = "weight" // at random, by weight
	L4RoundRobin L4Algorithm = "roundrobin"
	L4HashSrc    L4Algorithm = "hash_srcip"
	L4HashFlow   L4Algorithm = "hash_srcip_srcport"
	L4SymHash    L4Algorithm = "symhash" // of the connection, the same in both directions
	L4LeastConn  L4Algorithm = "leastconn"
	L4Priority   L4Algorithm = "prio" // the first usable by priority gets everything
	L4HashSrcPt  L4Algorithm = "hash_srcport"
	L4HashDst    L4Algorithm = "hash_dstip"
	L4HashDstPt  L4Algorithm = "hash_dstport"
)

// L4Algorithms lists every algorithm.
func L4Algorithms() []L4Algorithm {
	return []L4Algorithm{L4Weight, L4RoundRobin, L4HashSrc, L4HashFlow, L4SymHash, L4LeastConn, L4Priority, L4HashSrcPt, L4HashDst, L4HashDstPt}
}

// L4Persistence is how a returning client is identified; empty means not at all.
type L4Persistence string

// The kinds of persistence.
const (
	L4PersistNone    L4Persistence = ""
	L4PersistSrc     L4Persistence = "srcip"
	L4PersistSrcPt   L4Persistence = "srcport"
	L4PersistMAC     L4Persistence = "srcmac"
	L4PersistDst     L4Persistence = "dstip"
	L4PersistDstPt   L4Persistence = "dstport"
	L4PersistSrcSrc  L4Persistence = "srcip_srcport"
	L4PersistSrcDest L4Persistence = "srcip_dstport"
)

// L4Persistences lists every kind except none.
func L4Persistences() []L4Persistence {
	return []L4Persistence{L4PersistSrc, L4PersistSrcPt, L4PersistMAC, L4PersistDst, L4PersistDstPt, L4PersistSrcSrc, L4PersistSrcDest}
}

// DataPath is how an l4xnat farm is carried.
type DataPath string

// The data paths; the empty value acts as DataPathAuto, which Carrier resolves.
const (
	DataPathAuto      DataPath = "auto"
	DataPathUserspace DataPath = "userspace" // the engine
	DataPathKernel    DataPath = "kernel"    // rules of the packet filter
)

// DataPaths lists every data path.
func DataPaths() []DataPath { return []DataPath{DataPathAuto, DataPathUserspace, DataPathKernel} }
