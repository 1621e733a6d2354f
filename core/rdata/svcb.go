package rdata

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// Parameters of SVCB records (RFC 9460 §14.3, RFC 9461, RFC 9540).
const (
	paramMandatory     = 0
	paramALPN          = 1
	paramNoDefaultALPN = 2
	paramPort          = 3
	paramIPv4Hint      = 4
	paramECH           = 5
	paramIPv6Hint      = 6
	paramDoHPath       = 7
	paramOHTTP         = 8
	paramReserved      = 65535
)

// param is a service parameter.
type param struct {
	key   uint16
	value []byte
}

// service packs the data of an SVCB or HTTPS record: priority, name and parameters in
// any order. It accepts two things that miekg/dns does not: known parameters by number
// (key7), as printed by older servers, and IPv4-mapped IPv6 addresses.
func service(t farm.RecordType, text, zone string) ([]byte, error) {
	list := words(text)
	if len(list) < 2 {
		return nil, noData(t, text)
	}
	priority, err := strconv.ParseUint(list[0], 10, 16)
	name, bad := absolute(list[1], zone)
	if err != nil || bad != nil {
		return nil, noData(t, text)
	}
	var target [MaxName]byte
	n, err := dns.PackDomainName(name, target[:], 0, nil, false)
	if err != nil {
		return nil, noData(t, text)
	}
	var params []param
	for _, word := range list[2:] {
		p, ok := readParam(word)
		if !ok {
			return nil, noData(t, text)
		}
		params = append(params, p)
	}
	slices.SortStableFunc(params, func(a, b param) int { return int(a.key) - int(b.key) })
	data := append(binary.BigEndian.AppendUint16(nil, uint16(priority)), target[:n]...)
	for _, p := range params {
		data = binary.BigEndian.AppendUint16(data, p.key)
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(p.value))), p.value...)
	}
	if len(data) > 65535 {
		return nil, noData(t, text)
	}
	return data, nil
}

// readParam parses key=value. soundService validates the value later.
func readParam(word string) (p param, ok bool) {
	name, value, _ := strings.Cut(word, "=")
	if p.key, ok = paramNamed(name); !ok || len(value) > 65535*4 || !isCharString(value) {
		return p, false
	}
	raw := unquoted(value)
	if len(raw) > 65535 {
		return p, false
	}
	if strings.HasPrefix(name, "key") {
		p.value = raw
		return p, true
	}
	p.value, ok = readValue(p.key, raw)
	return p, ok
}

// isCharString reports whether the value is quoted as a whole or not at all (RFC 9460
// §2.1).
func isCharString(value string) bool {
	quotes := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			quotes++
			if i > 0 && i < len(value)-1 {
				return false
			}
		}
	}
	return quotes == 0 || quotes == 2 && value[0] == '"'
}

func readValue(key uint16, raw []byte) (value []byte, ok bool) {
	switch key {
	case paramMandatory:
		return readMandatory(raw)
	case paramALPN:
		return readALPN(raw)
	case paramPort:
		port, err := strconv.ParseUint(string(raw), 10, 16)
		return binary.BigEndian.AppendUint16(nil, uint16(port)), err == nil
	case paramIPv4Hint, paramIPv6Hint:
		return readHints(raw, key == paramIPv4Hint)
	case paramECH:
		value, err := base64.StdEncoding.DecodeString(string(raw))
		return value, err == nil
	}
	return raw, true
}

func readMandatory(raw []byte) (value []byte, ok bool) {
	var keys []uint16
	for name := range strings.SplitSeq(string(raw), ",") {
		key, ok := paramNamed(name)
		if !ok {
			return nil, false
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		value = binary.BigEndian.AppendUint16(value, key)
	}
	return value, true
}

// readALPN parses protocols separated by commas. Commas within a protocol are escaped
// (RFC 9460 appendix A.1).
func readALPN(raw []byte) (value []byte, ok bool) {
	length, value := 0, []byte{0}
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == ',' {
			length, value = len(value), append(value, 0)
			continue
		}
		if c == '\\' && i+1 < len(raw) {
			i++
			c = raw[i]
		}
		if value[length] == 255 {
			return nil, false
		}
		value[length]++
		value = append(value, c)
	}
	return value, true
}

func readHints(raw []byte, v4 bool) (value []byte, ok bool) {
	if len(raw) == 0 {
		return nil, true
	}
	for text := range strings.SplitSeq(string(raw), ",") {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Is4() != v4 || addr.Zone() != "" {
			return nil, false
		}
		value = append(value, addr.AsSlice()...)
	}
	return value, true
}

func paramNamed(name string) (key uint16, ok bool) {
	if digits, is := strings.CutPrefix(name, "key"); is {
		n, err := strconv.ParseUint(digits, 10, 16)
		return uint16(n), err == nil && n != paramReserved && (digits == "0" || digits[0] != '0')
	}
	for key := range uint16(paramOHTTP + 1) {
		if dns.SVCBKey(key).String() == name {
			return key, true
		}
	}
	return 0, false
}

// params splits the data of an SVCB record; false if they are invalid.
func params(data []byte) (priority uint16, name []byte, out []param, ok bool) {
	if len(data) < 3 {
		return 0, nil, nil, false
	}
	priority, data = binary.BigEndian.Uint16(data), data[2:]
	_, end, err := dns.UnpackDomainName(data, 0)
	if err != nil || end > len(data) || bytes.IndexFunc(data[:1], func(r rune) bool { return r > 63 }) == 0 {
		return 0, nil, nil, false
	}
	name, data = data[:end], data[end:]
	for len(data) > 0 {
		if len(data) < 4 {
			return 0, nil, nil, false
		}
		p := param{key: binary.BigEndian.Uint16(data)}
		n := int(binary.BigEndian.Uint16(data[2:]))
		if data = data[4:]; len(data) < n {
			return 0, nil, nil, false
		}
		p.value, data = data[:n], data[n:]
		out = append(out, p)
	}
	return priority, name, out, true
}

// serviceText returns the data of an SVCB record in master file syntax.
func serviceText(data []byte) (text string, ok bool) {
	priority, name, list, ok := params(data)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString(strconv.Itoa(int(priority)) + " " + NameText(name))
	for _, p := range list {
		b.WriteByte(' ')
		switch value := p.text(); {
		case soundParam(p.key, p.value) != "": // by number, as bytes
			b.WriteString("key" + strconv.Itoa(int(p.key)) + "=" + escaped(p.value))
		case len(p.value) == 0:
			b.WriteString(dns.SVCBKey(p.key).String())
		default:
			b.WriteString(dns.SVCBKey(p.key).String() + "=" + value)
		}
	}
	return b.String(), true
}

// text returns the value of a valid parameter.
func (p param) text() string {
	var list []string
	switch p.key {
	case paramMandatory:
		for v := p.value; len(v) >= 2; v = v[2:] {
			list = append(list, dns.SVCBKey(binary.BigEndian.Uint16(v)).String())
		}
	case paramALPN:
		for v := p.value; len(v) > 0 && int(v[0]) < len(v); v = v[1+int(v[0]):] {
			list = append(list, strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(string(v[1:1+v[0]])))
		}
	case paramPort:
		if len(p.value) == 2 {
			list = []string{strconv.Itoa(int(binary.BigEndian.Uint16(p.value)))}
		}
	case paramIPv4Hint, paramIPv6Hint:
		size := map[bool]int{true: 4, false: 16}[p.key == paramIPv4Hint]
		for v := p.value; len(v) >= size; v = v[size:] {
			addr, _ := netip.AddrFromSlice(v[:size])
			list = append(list, addr.String())
		}
	case paramECH:
		list = []string{base64.StdEncoding.EncodeToString(p.value)}
	default:
		return escaped(p.value)
	}
	return escaped([]byte(strings.Join(list, ",")))
}
