package farm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// L4Key identifies a client of an l4xnat farm. The persistence decides which of its parts
// are used.
type L4Key struct {
	Addr netip.Addr // IPv4 is never mapped into IPv6
	Port uint16
	MAC  [6]byte
}

// ParseL4Key parses a session key in the form of the persistence: "10.0.0.1", "4022",
// "10.0.0.1 . 4022" or "02:00:00:00:00:01". Blanks around the parts are ignored.
func ParseL4Key(p L4Persistence, text string) (L4Key, error) {
	text = strings.Trim(text, " ")
	var key L4Key
	var err error
	switch p {
	case L4PersistSrc, L4PersistDst:
		key.Addr, err = parseKeyAddr(text)
	case L4PersistSrcPt, L4PersistDstPt:
		key.Port, err = parseKeyPort(text)
	case L4PersistMAC:
		key.MAC, err = parseKeyMAC(text)
	case L4PersistSrcSrc, L4PersistSrcDest:
		at := strings.LastIndexByte(text, '.')
		if at < 0 {
			return key, errors.New("an address, a dot and a port are expected")
		}
		if key.Addr, err = parseKeyAddr(strings.TrimRight(text[:at], " ")); err == nil {
			key.Port, err = parseKeyPort(strings.TrimLeft(text[at+1:], " "))
		}
	default:
		err = errors.New("clients are not recognised without persistence")
	}
	if err != nil {
		return L4Key{}, err
	}
	return key, nil
}

// Text returns the key in the normal form of ParseL4Key, under which sessions are stored.
func (k L4Key) Text(p L4Persistence) string {
	switch p {
	case L4PersistSrc, L4PersistDst:
		return k.Addr.String()
	case L4PersistSrcPt, L4PersistDstPt:
		return strconv.Itoa(int(k.Port))
	case L4PersistMAC:
		return net.HardwareAddr(k.MAC[:]).String()
	case L4PersistSrcSrc, L4PersistSrcDest:
		return k.Addr.String() + " . " + strconv.Itoa(int(k.Port))
	}
	return ""
}

// L4KeyForm describes the form of a key for messages; empty without persistence.
func L4KeyForm(p L4Persistence) string {
	switch p {
	case L4PersistSrc, L4PersistDst:
		return "an address as 10.0.0.1"
	case L4PersistSrcPt, L4PersistDstPt:
		return "a port as 4022"
	case L4PersistMAC:
		return "a MAC address as 02:00:00:00:00:01"
	case L4PersistSrcSrc, L4PersistSrcDest:
		return "an address and a port as 10.0.0.1 . 4022"
	}
	return ""
}

func parseKeyAddr(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%.64q is no address", text)
	}
	return addr.Unmap(), nil
}

func parseKeyPort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%.64q is no port", text)
	}
	return uint16(n), nil
}

func parseKeyMAC(text string) (out [6]byte, err error) {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != len(out) {
		return out, fmt.Errorf("%.64q is no MAC address", text)
	}
	return [6]byte(mac), nil
}
