package rdata

import (
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
)

// wks is the data of a WKS record (RFC 1035 §3.4.2): an address, a protocol, and a bit for
// each port.
type wks struct{}

var wksProtocols = map[string]byte{"icmp": 1, "tcp": 6, "udp": 17}

// wksPorts are the services that RFC 1010 names and files may contain.
var wksPorts = map[string]uint16{
	"echo": 7, "discard": 9, "daytime": 13, "chargen": 19, "ftp-data": 20, "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "time": 37, "domain": 53,
	"tftp": 69, "gopher": 70, "finger": 79, "http": 80, "pop3": 110, "sunrpc": 111, "nntp": 119, "ntp": 123, "imap2": 143, "imap": 143, "snmp": 161, "https": 443,
}

func (wks) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	if len(words) < 2 {
		return nil, nil, false
	}
	addr, err := netip.ParseAddr(words[0])
	protocol, known := wksProtocols[strings.ToLower(words[1])]
	if n, err := strconv.ParseUint(words[1], 10, 8); err == nil {
		protocol, known = byte(n), true
	}
	if err != nil || !addr.Is4() || !known {
		return nil, nil, false
	}
	var ports []byte
	for _, word := range words[2:] {
		port, known := wksPorts[strings.ToLower(word)]
		if n, err := strconv.ParseUint(word, 10, 16); err == nil {
			port, known = uint16(n), true
		}
		if !known {
			return nil, nil, false
		}
		for len(ports) <= int(port/8) {
			ports = append(ports, 0)
		}
		ports[port/8] |= 0x80 >> (port % 8)
	}
	return append(append(append(out, addr.AsSlice()...), protocol), ports...), nil, true
}

func (wks) text(out []string, data []byte) ([]string, []byte, bool) {
	if len(data) < 5 || len(data) > 5+8192 {
		return nil, nil, false
	}
	addr, _ := netip.AddrFromSlice(data[:4])
	out = append(out, addr.String(), strconv.Itoa(int(data[4])))
	for i, bits := range data[5:] {
		for bit := range 8 {
			if bits&(0x80>>bit) != 0 {
				out = append(out, strconv.Itoa(8*i+bit))
			}
		}
	}
	return out, nil, true
}

// nsap is the address of an NSAP record in hexadecimal digits (RFC 1706 §5).
type nsap struct{}

func (nsap) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	digits := strings.ToLower(strings.Join(words, ""))
	if len(words) != 1 || !strings.HasPrefix(digits, "0x") {
		return nil, nil, false
	}
	data, err := hex.DecodeString(strings.ReplaceAll(digits[2:], ".", ""))
	return append(out, data...), nil, err == nil && len(data) > 0
}

func (nsap) text(out []string, data []byte) ([]string, []byte, bool) {
	return append(out, "0x"+hex.EncodeToString(data)), nil, len(data) > 0
}

// atma is the address of an ATMA record: decimal digits after a plus sign, or hexadecimal
// ones (ATM Name System, version 1.0).
type atma struct{}

const atmaDecimal = 1

func (atma) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	if len(words) != 1 {
		return nil, nil, false
	}
	text := words[0]
	if strings.Contains(text, "..") || strings.HasSuffix(text, ".") {
		return nil, nil, false
	}
	digits, decimal := strings.CutPrefix(strings.ReplaceAll(text, ".", ""), "+")
	if decimal {
		return append(append(out, atmaDecimal), digits...), nil, digits != "" && strings.Trim(digits, "0123456789") == ""
	}
	data, err := hex.DecodeString(digits)
	return append(append(out, 0), data...), nil, err == nil && len(data) > 0
}

func (atma) text(out []string, data []byte) ([]string, []byte, bool) {
	switch {
	case len(data) < 2:
		return nil, nil, false
	case data[0] == atmaDecimal:
		return append(out, "+"+string(data[1:])), nil, true
	}
	return append(out, hex.EncodeToString(data[1:])), nil, data[0] == 0
}

// a6 is the data of an A6 record (RFC 2874 §3.1): the length of a prefix, the rest of the
// address, and the name of the prefix. The rest is missing if the prefix is the whole
// address, and the name if the prefix is empty.
type a6 struct{}

func (a6) read(out []byte, words []string, zone string) ([]byte, []string, bool) {
	if len(words) == 0 {
		return nil, nil, false
	}
	prefix, err := strconv.ParseUint(words[0], 10, 8)
	if words = words[1:]; err != nil || prefix > 128 {
		return nil, nil, false
	}
	out = append(out, byte(prefix))
	if prefix < 128 {
		if len(words) == 0 {
			return nil, nil, false
		}
		addr, err := netip.ParseAddr(words[0])
		if err != nil || addr.Is4() || addr.Zone() != "" {
			return nil, nil, false
		}
		all := addr.As16()
		all[prefix/8] &= 0xff >> (prefix % 8)
		out, words = append(out, all[prefix/8:]...), words[1:]
	}
	if prefix == 0 {
		return out, words, true
	}
	return name{}.read(out, words, zone)
}

func (a6) text(out []string, data []byte) ([]string, []byte, bool) {
	if len(data) == 0 || data[0] > 128 {
		return nil, nil, false
	}
	prefix := int(data[0])
	out, data = append(out, strconv.Itoa(prefix)), data[1:]
	if prefix < 128 {
		var all [16]byte
		size := 16 - prefix/8
		if len(data) < size {
			return nil, nil, false
		}
		copy(all[prefix/8:], data)
		out, data = append(out, netip.AddrFrom16(all).String()), data[size:]
	}
	if prefix == 0 {
		return out, data, true
	}
	return name{}.text(out, data)
}

// amtRelay is the discovery bit, the kind of a relay and its address or name (RFC 8777 §4.2).
type amtRelay struct{}

const (
	relayNone = iota
	relayIPv4
	relayIPv6
	relayName
)

func (amtRelay) read(out []byte, words []string, zone string) ([]byte, []string, bool) {
	if len(words) != 3 || words[0] != "0" && words[0] != "1" {
		return nil, nil, false
	}
	out, kind := append(out, (words[0][0]-'0')<<7), words[1]
	at := len(out) - 1
	addr, err := netip.ParseAddr(words[2])
	isAddr := err == nil && addr.Zone() == ""
	switch {
	case kind == "0" && words[2] == ".":
		return out, nil, true
	case kind == "1" && isAddr && addr.Is4(), kind == "2" && isAddr && addr.Is6():
		out[at] |= kind[0] - '0'
		return append(out, addr.AsSlice()...), nil, true
	case kind == "3":
		out[at] |= relayName
		return name{}.read(out, words[2:], zone)
	}
	return nil, nil, false
}

func (amtRelay) text(out []string, data []byte) ([]string, []byte, bool) {
	if len(data) == 0 {
		return nil, nil, false
	}
	kind, rest := data[0]&0x7f, data[1:]
	out = append(out, strconv.Itoa(int(data[0]>>7)), strconv.Itoa(int(kind)))
	size := map[byte]int{relayIPv4: 4, relayIPv6: 16}[kind]
	switch {
	case kind == relayNone:
		return append(out, "."), rest, true
	case kind == relayName:
		return name{}.text(out, rest)
	case size == 0 || len(rest) < size:
		return nil, nil, false
	}
	addr, _ := netip.AddrFromSlice(rest[:size])
	return append(out, addr.String()), rest[size:], true
}
