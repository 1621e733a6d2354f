package compress_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/compress"
)

var offered = []compress.Coding{compress.Brotli, compress.Zstd, compress.Gzip}

func choose(values ...string) compress.Coding {
	var a compress.Accept
	for _, v := range values {
		a.Add([]byte(v))
	}
	return a.Choose(offered)
}

func TestClientWeightsPrecedeServerOrder(t *testing.T) {
	for value, want := range map[string]string{
		"":                               "",
		"gzip":                           "gzip",
		"GZip":                           "gzip",
		"x-gzip":                         "gzip",
		"gzip, deflate, br, zstd":        "br",
		"gzip, deflate, zstd":            "zstd",
		"deflate":                        "",
		"compress, dcb, dcz":             "",
		"gzip;q=1.0, br;q=0.9":           "gzip",
		"gzip;q=0.5,br;q=0.500":          "br",
		"gzip, br;q=1":                   "br",
		"gzip;q=0.001":                   "gzip",
		"gzip;q=0":                       "",
		"gzip;q=0.000, *":                "br",
		"*":                              "br",
		"*;q=0":                          "",
		"*;q=0, gzip":                    "gzip",
		"br;q=0, *;q=0.1":                "zstd",
		"br;q=0, zstd;q=0, *;q=0.1":      "gzip",
		"identity":                       "",
		"identity, gzip":                 "gzip",
		"identity;q=1, gzip;q=0.9":       "",
		"identity;q=0.5, gzip;q=0.9":     "gzip",
		"identity;q=0.5, gzip;q=0.5":     "gzip",
		"identity;q=0":                   "",
		"identity;q=0, gzip;q=0.1":       "gzip",
		"identity;q=0, *":                "br",
		" ,, gzip\t;\tq=0.5 ,":           "gzip",
		"gzip;Q=0.5":                     "gzip",
		"gzip;q=0.5;x=y":                 "",
		"gzip;q=2":                       "",
		"gzip;q=1.001":                   "",
		"gzip;q=1.000":                   "gzip",
		"gzip;q=1.":                      "gzip",
		"gzip;q=0.1234":                  "",
		"gzip;q=.5":                      "",
		"gzip;q=-1":                      "",
		"gzip;q=0.00:":                   "",
		"gzip;q=":                        "",
		"gzip;":                          "",
		"gzip;level=1":                   "",
		"gzip q=1":                       "",
		"gzip;q=0, gzip":                 "",
		"gzip, gzip;q=0":                 "",
		"gzip;q=1, gzip;q=0.2, br;q=0.5": "br",
		"\"gzip\"":                       "",
		"gzipx, xgzip, brr, z":           "",
	} {
		if got := choose(value).String(); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	if got := choose("gzip;q=0.5", "zstd;q=0.4", "br;q=0"); got != compress.Gzip {
		t.Errorf("several fields are not combined: got %v, want %v", got, compress.Gzip)
	}
}

// plainWeight is an independent parser of an element, with the standard library. -1 means
// malformed.
func plainWeight(params string) int {
	params = strings.Trim(params, " \t")
	if params == "" {
		return 1000
	}
	params, ok := strings.CutPrefix(params, ";")
	params = strings.Trim(params, " \t")
	if !ok || len(params) < 2 || !strings.EqualFold(params[:2], "q=") {
		return -1
	}
	whole, part, dot := strings.Cut(params[2:], ".")
	if whole != "0" && whole != "1" || len(part) > 3 || strings.Trim(part, "0123456789") != "" || !dot && part != "" {
		return -1
	}
	n, err := strconv.Atoi(whole + (part + "000")[:3])
	if err != nil || n > 1000 {
		return -1
	}
	return n
}

// plainChoice implements Choose after the text of RFC 9110 section 12.5.3.
func plainChoice(value string) string {
	weights := map[string]int{}
	for _, element := range strings.Split(value, ",") {
		name, params := element, ""
		if i := strings.Index(element, ";"); i >= 0 {
			name, params = element[:i], element[i:]
		}
		name = strings.ToLower(strings.Trim(name, " \t"))
		if name == "x-gzip" {
			name = "gzip"
		}
		w := max(plainWeight(params), 0)
		if known, twice := weights[name]; twice {
			w = min(w, known)
		}
		weights[name] = w
	}
	best, at := "", 0
	for _, name := range []string{"br", "zstd", "gzip"} {
		w, given := weights[name]
		if !given {
			w = weights["*"]
		}
		if w > at {
			best, at = name, w
		}
	}
	if weights["identity"] > at {
		return ""
	}
	return best
}

func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"gzip, deflate, br, zstd", "gzip;q=0.5, *;q=0", "identity;q=1, *;q=0.3", "compress;q=0.5, gzip;q=1.0", "*", "", ";;,,q=", "gzip ; q=1.000",
		"br;q=0,zstd;q=0,gzip;q=0.001", "identity;q=0.4;q=1", "GZIP;Q=0.2,x-gzip", "gzip;q=0.9999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for i := range len(value) {
			if value[i] >= 0x80 { // case folding differs there, and no coding has such a name
				return
			}
		}
		if got, want := choose(value).String(), plainChoice(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	})
}
