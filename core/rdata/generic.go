package rdata

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// generic parses data in the generic format, the text after \# (RFC 3597 §5): length
// and bytes. For a known type they must be valid data of that type.
func generic(t farm.RecordType, text string) ([]byte, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, noData(t, `\# `+text)
	}
	n, err := strconv.ParseUint(words[0], 10, 16)
	data, bad := hex.DecodeString(strings.Join(words[1:], ""))
	if err != nil || bad != nil || len(data) != int(n) {
		return nil, fmt.Errorf(`"\# %s" is no data: it is \# , the length and hexadecimal data, as \# 4 c0000201`, text)
	}
	if !whole(Code(t), data) {
		return nil, noData(t, `\# `+text)
	}
	return data, nil
}

// whole reports whether data are complete data of their type. Types that miekg/dns does not
// know are left to validation, because earlier versions stored any data of them.
func whole(code uint16, data []byte) bool {
	if code == dns.TypeSVCB || code == dns.TypeHTTPS {
		_, ok := serviceText(data)
		return ok
	}
	if l := layouts[code]; l != nil {
		if _, ok := l.text(data); ok {
			return true
		}
	}
	if newRR := dns.TypeToRR[code]; newRR == nil {
		return true
	}
	if len(data) == 0 {
		return code == dns.TypeAPL
	}
	h := dns.RR_Header{Name: ".", Rrtype: code, Class: dns.ClassINET, Rdlength: uint16(len(data))}
	rr, end, err := dns.UnpackRRWithHeader(h, data, 0)
	if err != nil || end != len(data) || !sized(rr) {
		return false
	}
	again, err := packed(rr) // the library accepts truncated data
	return err == nil && len(again) == len(data)
}

// Portable returns type and data of a record in master file syntax that any server reads.
// Types that few servers know are written in the generic format (RFC 3597 §5), and texts with
// parentheses in quotes.
func Portable(t farm.RecordType, text, zone string) string {
	code := Code(t)
	if typeNames[code] != "" || layouts[code] != nil && hasLooseParenthesis(text) {
		data, err := Pack(t, text, zone)
		switch {
		case err == nil && typeNames[code] != "":
			return fmt.Sprintf("TYPE%d\t%s", code, genericText(data))
		case err == nil:
			return string(t) + "\t" + Text(code, data)
		}
	}
	return string(t) + "\t" + Master(t, text)
}

func genericText(data []byte) string {
	return strings.TrimSpace(fmt.Sprintf(`\# %d %x`, len(data), data))
}
