package proxyproto

import (
	"encoding/binary"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Append appends a header for a connection from a client at source to destination. With
// an invalid address it marks the connection as the sender's own (UNKNOWN, LOCAL).
// tlvs, built by AppendTLV, are appended to version 2; version 1 has none. Addresses of
// different families are both written as IPv6.
func Append(dst []byte, v Version, source, destination netip.AddrPort, tlvs []byte) []byte {
	local := !source.IsValid() || !destination.IsValid()
	if v == V1 {
		return appendLine(dst, local, source, destination)
	}
	dst = append(dst, signatureV2...)
	if local {
		return append(dst, commandLocal, familyNone, 0, 0)
	}
	from, to := source.Addr().Unmap(), destination.Addr().Unmap()
	if from.Is4() && to.Is4() {
		dst = append(dst, commandProxy, familyTCP4)
		dst = binary.BigEndian.AppendUint16(dst, uint16(sizeIPv4+len(tlvs)))
		a, b := from.As4(), to.As4()
		dst = append(append(dst, a[:]...), b[:]...)
	} else {
		dst = append(dst, commandProxy, familyTCP6)
		dst = binary.BigEndian.AppendUint16(dst, uint16(sizeIPv6+len(tlvs)))
		a, b := from.As16(), to.As16()
		dst = append(append(dst, a[:]...), b[:]...)
	}
	dst = binary.BigEndian.AppendUint16(dst, source.Port())
	dst = binary.BigEndian.AppendUint16(dst, destination.Port())
	return append(dst, tlvs...)
}

// VersionOf returns the header version of a farm's backend connections; 0 for none.
func VersionOf(out farm.ProxyOut) Version {
	switch out {
	case farm.ProxyOutV1:
		return V1
	case farm.ProxyOutV2:
		return V2
	}
	return 0
}

// Own returns the header of the sender's own connections (UNKNOWN, LOCAL); nil for no
// version.
func (v Version) Own() []byte {
	if v == 0 {
		return nil
	}
	return Append(nil, v, netip.AddrPort{}, netip.AddrPort{}, nil)
}

func appendLine(dst []byte, local bool, source, destination netip.AddrPort) []byte {
	dst = append(dst, signatureV1...)
	if local {
		return append(dst, "UNKNOWN\r\n"...)
	}
	from, to := source.Addr().Unmap().WithZone(""), destination.Addr().Unmap().WithZone("")
	if from.Is4() && to.Is4() {
		dst = append(dst, "TCP4 "...)
	} else {
		dst = append(dst, "TCP6 "...)
		from, to = netip.AddrFrom16(from.As16()), netip.AddrFrom16(to.As16())
	}
	dst = append(from.AppendTo(dst), ' ')
	dst = append(to.AppendTo(dst), ' ')
	dst = append(appendPort(dst, source.Port()), ' ')
	return append(appendPort(dst, destination.Port()), "\r\n"...)
}

func appendPort(dst []byte, port uint16) []byte {
	var b [5]byte
	i := len(b)
	for n := port; i == len(b) || n > 0; n /= 10 {
		i--
		b[i] = '0' + byte(n%10)
	}
	return append(dst, b[i:]...)
}

// Types of TLVs that are written (PP2_TYPE_…, PP2_SUBTYPE_SSL_…).
const (
	TypeALPN      = 0x01
	TypeAuthority = 0x02
	TypeSSL       = 0x20

	SubtypeSSLVersion = 0x21
	SubtypeSSLCN      = 0x22
	SubtypeSSLCipher  = 0x23
)

// Bits of the first byte of TypeSSL (PP2_CLIENT_…).
const (
	ClientSSL      = 0x01
	ClientCertConn = 0x02 // the client sent a certificate on this connection
	ClientCertSess = 0x04 // or on an earlier one whose TLS session was resumed
)

// MaxTLV is the maximum size of a TLV value in bytes; longer ones are omitted.
const MaxTLV = 1024

// AppendTLV appends one TLV. It omits values that are empty or too long.
func AppendTLV[B ~string | ~[]byte](dst []byte, kind byte, value B) []byte {
	if len(value) == 0 || len(value) > MaxTLV {
		return dst
	}
	dst = append(dst, kind, byte(len(value)>>8), byte(len(value)))
	return append(dst, value...)
}
