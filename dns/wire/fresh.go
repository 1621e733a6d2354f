package wire

import "encoding/binary"

// Fresh returns the seconds for which HTTP may cache an answer (RFC 8484 §5.1). That is the
// lowest TTL in the answer section or, if it is empty, the TTL of the SOA record (RFC 2308
// §5). For failures it is 0.
func Fresh(q *Query, answer []byte) (seconds uint32) {
	code := Rcode(answer[3] & 0xf)
	count := int(binary.BigEndian.Uint16(answer[6:]))
	if count == 0 {
		count = int(binary.BigEndian.Uint16(answer[8:]))
	}
	at := q.Question
	if code != NoError && code != NXDomain || at == 0 || count == 0 {
		return 0
	}
	seconds = ^uint32(0)
	for range count {
		name, _ := skipName(answer, at)
		end, ok := skipRecord(answer, at)
		if !ok {
			return 0
		}
		at = end
		seconds = min(seconds, binary.BigEndian.Uint32(answer[name+4:]))
	}
	return seconds
}
