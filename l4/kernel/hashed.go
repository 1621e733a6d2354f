package kernel

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// nft up to 1.0.6 takes no key of more than 16 bytes where a packet adds an
// element with a value (it aborts). Sessions by IPv6 address and port are
// therefore kept by a hash of that, and a set beside the map holds the keys
// themselves, for people. Two clients with one hash share a backend, nothing
// else.

// hashOf is what nft's "jhash KEY mod … seed …" (hashes) makes of a key as
// SessionKey writes it: the parts in network byte order, each filled up to four
// bytes.
func hashOf(key string) (uint32, error) {
	var b []byte
	for _, text := range strings.Split(key, " . ") {
		if addr, err := netip.ParseAddr(text); err == nil {
			b = append(b, addr.AsSlice()...)
		} else if port, err := strconv.ParseUint(text, 10, 16); err == nil {
			b = append(binary.BigEndian.AppendUint16(b, uint16(port)), 0, 0)
		} else if mac, err := net.ParseMAC(text); err == nil && len(mac) == 6 {
			b = append(append(b, mac...), 0, 0)
		} else {
			return 0, fmt.Errorf("%q is no part of a key", text)
		}
	}
	return rules.HashBytes(b), nil
}
