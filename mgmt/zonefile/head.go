package zonefile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// head is the part of a record before its data.
type head struct {
	ttl    uint32
	hasTTL bool
	class  string
	kind   string
	data   string
}

// readHead reads TTL and class, in any order, and the type.
func readHead(rest string) (h head, err error) {
	for {
		word, more := rdata.Word(rest)
		rest = more
		upper := strings.ToUpper(word)
		ttl, isTTL := parseTTL(word)
		switch {
		case word == "":
			return h, errors.New("it has no type")
		case isTTL && !h.hasTTL:
			h.ttl, h.hasTTL = ttl, true
		case isClass(upper) && h.class == "":
			h.class = upper
		default:
			h.kind, h.data = upper, strings.Trim(rest, " \t")
			if rdata.TypeNamed(upper) == 0 && upper != string(farm.RecordDYNA) && upper != string(farm.RecordALIAS) {
				return h, fmt.Errorf(`%q is no type of records, and no time to live; a type without a name here has its number, as TYPE65280 \# 4 c0000201`, word)
			}
			return h, nil
		}
	}
}

func isClass(word string) bool {
	switch word {
	case "IN", "CH", "HS", "CS", "CHAOS":
		return true
	}
	number, is := strings.CutPrefix(word, "CLASS")
	_, err := strconv.ParseUint(number, 10, 16)
	return is && err == nil
}

// parseTTL reads a number of seconds, or times with units, e.g. 1h30m.
func parseTTL(word string) (seconds uint32, ok bool) {
	sum, n, digits := uint64(0), uint64(0), 0
	for i := 0; i < len(word); i++ {
		c := word[i] | 0x20
		if word[i] >= '0' && word[i] <= '9' {
			if n, digits = 10*n+uint64(word[i]-'0'), digits+1; digits > 12 {
				return 0, false
			}
			continue
		}
		unit := map[byte]uint64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}[c]
		if unit == 0 || digits == 0 {
			return 0, false
		}
		sum, n, digits = sum+n*unit, 0, 0
	}
	sum += n
	return uint32(sum), word != "" && sum <= 1<<32-1
}
