package validate

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// directives are fields of Zevenet's core without equivalent in an http farm. Since clients
// send whole objects, the value that Sluice implements anyway is accepted. Any other value
// is rejected with the reason. They are neither stored nor returned.
var directives = []field[farm.Farm]{
	directive("threads", advanced(atLimits, "Threads"), nil,
		"All farms share the event loops of the engine, one for each CPU."),
	directive("loglevel", advanced(atLogging, "Log level"), nil,
		"Set logs for the farm's access log, and log_level of /system/global for messages of the API."),
	directive("control", advanced(atAccess, "Control socket"), nil,
		"The engine has no interface of its own: the REST API answers what it knows."),
	directive("certdir", advanced(atTLS, "Folder of certificates"), nil,
		"Certificates are kept by the appliance: name them in certificates."),
	directive("dhparams", advanced(atTLS, "DH parameters"), nil,
		"Key exchange is by elliptic curves and post-quantum groups only, see ecdhcurve; no suite has finite-field DH."),
	directive("sslhonorcipherorder", advanced(atTLS, "Order of suites"), []string{"false", "true", "0", "1"},
		"The order is that of Sluice, with AES or ChaCha20 first as the client prefers."),
	directive("sslallowclientrenegotiation", advanced(atTLS, "Renegotiation"), []string{"false", "0"},
		"Clients never renegotiate a connection (RFC 9325, 3.5)."),
	directive("forwardsni", advanced(atTLS, "Forward SNI"), []string{"true", "1"},
		"Backends that speak TLS get the Host of each request as server name, or httpsb_name of their service."),
}

// directive returns such a field. It accepts blank, null, and the given words.
func directive(name string, h hints, words []string, reason string) field[farm.Farm] {
	must := "blank: it is not applicable"
	if len(words) > 0 {
		must = "blank or " + strings.Join(words, ", ") + ": it is not applicable"
	}
	return field[farm.Farm]{rule: rule{
		sample: append(slices.Clone(words), "")[0],
		name:   name, hints: h, kind: kindText, blank: true, null: true, maxLen: MaxName,
		normalize: map[string]string{"true": "true", "false": "false"}, // booleans are accepted
		must:      must, about: "Not applicable. " + reason,
		check: func(s string) string {
			if slices.Contains(words, s) {
				return ""
			}
			return reason
		},
	}}
}
