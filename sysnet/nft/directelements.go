package nft

import (
	"encoding/binary"
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// addElements adds elements to a set.
func (e *encoder) addElements(id ID, s *Set, elements map[string]Element) error {
	var list [][]byte
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		b, err := encodedKey(s, key)
		if err != nil {
			return err
		}
		one := elements[key]
		state, err := encodedState(s, one.State)
		if err != nil {
			return err
		}
		if s.Data != "" {
			value, err := encodedData(s.Data, one.Value)
			if err != nil {
				return err
			}
			b = append(b, nested(unix.NFTA_SET_ELEM_DATA, value)...)
		}
		list = append(list, append(b, state...))
	}
	e.elementList(unix.NFT_MSG_NEWSETELEM, unix.NLM_F_CREATE, id, 0, list)
	return nil
}

// deleteElements deletes elements of a set.
func (e *encoder) deleteElements(id ID, s *Set, elements map[string]Element) error {
	var list [][]byte
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		b, err := encodedKey(s, key)
		if err != nil {
			return err
		}
		list = append(list, b)
	}
	e.elementList(unix.NFT_MSG_DELSETELEM, 0, id, 0, list)
	return nil
}

// keyEnd is NFTA_SET_ELEM_KEY_END, which x/sys lacks.
const keyEnd = 10

// encodedKey returns the attributes of a key. In a set of intervals all keys are ranges.
func encodedKey(s *Set, key string) ([]byte, error) {
	first, last, err := encodedValue(s.Type, key)
	if err != nil {
		return nil, err
	}
	b := nested(unix.NFTA_SET_ELEM_KEY, attribute(unix.NFTA_DATA_VALUE, first))
	interval := strings.Contains(s.Options, "interval")
	switch {
	case interval && strings.Contains(s.Type, " . "):
		b = append(b, nested(keyEnd, attribute(unix.NFTA_DATA_VALUE, last))...)
	case interval || string(first) != string(last):
		return nil, errIndirect
	}
	return b, nil
}

// encodedState returns the attributes of an element besides key and value.
func encodedState(s *Set, state string) ([]byte, error) {
	words := strings.Fields(state)
	switch {
	case len(words) == 0:
		return nil, nil
	case state == "counter" && strings.Contains(s.Options, "counter;"):
		return nil, nil // the kernel copies the counter of the set
	case len(words) == 2 && words[0] == "timeout":
		d, err := time.ParseDuration(words[1])
		if err != nil || d <= 0 {
			return nil, errIndirect
		}
		return attribute(unix.NFTA_SET_ELEM_TIMEOUT, binary.BigEndian.AppendUint64(nil, uint64(d.Milliseconds()))), nil
	case len(words) == 4 && strings.HasPrefix(state, "ct count over "):
		n, err := strconv.ParseUint(words[3], 10, 32)
		if err != nil {
			return nil, errIndirect
		}
		b, err := expr.Marshal(0, &expr.Connlimit{Count: uint32(n), Flags: connlimitOver})
		if err != nil {
			return nil, errIndirect
		}
		return nested(unix.NFTA_SET_ELEM_EXPR, b), nil
	}
	return nil, errIndirect
}

// connlimitOver is NFT_CONNLIMIT_F_INV, which x/sys lacks.
const connlimitOver = 1

// encodedData returns the attribute of a map's value.
func encodedData(kind, value string) ([]byte, error) {
	if kind != "verdict" {
		b, last, err := encodedValue(kind, value)
		if err != nil || string(b) != string(last) {
			return nil, errIndirect
		}
		return attribute(unix.NFTA_DATA_VALUE, b), nil
	}
	chain, is := strings.CutPrefix(value, "goto ")
	if !is || strings.Contains(chain, " ") {
		return nil, errIndirect
	}
	code := int32(expr.VerdictGoto)
	return nested(unix.NFTA_DATA_VERDICT, append(attribute(unix.NFTA_VERDICT_CODE, big32(uint32(code))), attribute(unix.NFTA_VERDICT_CHAIN, text(chain))...)), nil
}

// encodedValue returns a value or the ends of a range, in the format of the kernel: parts of a
// concatenation are padded to four bytes.
func encodedValue(types, value string) (first, last []byte, err error) {
	kinds, parts := strings.Split(types, " . "), strings.Split(value, " . ")
	if len(kinds) != len(parts) {
		return nil, nil, errIndirect
	}
	for i, kind := range kinds {
		low, high, isRange := parts[i], parts[i], false
		if kind == "inet_service" {
			if low, high, isRange = strings.Cut(parts[i], "-"); !isRange {
				high = low
			}
		}
		a, z := encodedScalar(kind, low), encodedScalar(kind, high)
		if a == nil || z == nil {
			return nil, nil, errIndirect
		}
		first, last = append(first, a...), append(last, z...)
		for len(kinds) > 1 && len(first)%4 != 0 {
			first, last = append(first, 0), append(last, 0)
		}
	}
	return first, last, nil
}

// protocols are the transport protocols that rules name.
var protocols = map[string]byte{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "sctp": unix.IPPROTO_SCTP}

// ProtocolNumber returns the number of a transport protocol in keys, or 0.
func ProtocolNumber(name string) byte { return protocols[name] }

// encodedScalar returns a value of a type, or nil.
func encodedScalar(kind, value string) []byte {
	switch kind {
	case "ipv4_addr", "ipv6_addr":
		if a, err := netip.ParseAddr(value); err == nil && a.Zone() == "" && a.Is4() == (kind == "ipv4_addr") {
			return a.AsSlice()
		}
	case "mark":
		if n, err := strconv.ParseUint(value, 0, 32); err == nil {
			return native32(uint32(n))
		}
	case "inet_service":
		if n, err := strconv.ParseUint(value, 10, 16); err == nil && n <= math.MaxUint16 {
			return binary.BigEndian.AppendUint16(nil, uint16(n))
		}
	case "inet_proto":
		if n, known := protocols[value]; known {
			return []byte{n}
		}
	case "ct_dir":
		if i := slices.Index([]string{"original", "reply"}, value); i >= 0 {
			return []byte{byte(i)}
		}
	case "ether_addr":
		if mac, err := net.ParseMAC(value); err == nil && len(mac) == 6 {
			return mac
		}
	}
	return nil
}
