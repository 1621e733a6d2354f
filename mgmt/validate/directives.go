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
		"All farms share the event loops of the engine, one per CPU."),
	directive("loglevel", advanced(atLogging, "Log level"), nil,
		"Use logs for the farm's access log, and log_level of /system/global for messages of the API."),
	directive("control", advanced(atAccess, "Control socket"), nil,
		"The engine has no control socket; use the REST API."),
	directive("certdir", advanced(atTLS, "Certificate directory"), nil,
		"The appliance stores certificates; list them in certificates."),
	directive("dhparams", advanced(atTLS, "DH parameters"), nil,
		"Key exchange uses only elliptic curves and post-quantum groups (see ecdhcurve), never finite-field DH."),
	directive("sslhonorcipherorder", advanced(atTLS, "Cipher order"), []string{"false", "true", "0", "1"},
		"Sluice sets the order, with AES or ChaCha20 first according to the client's preference."),
	directive("sslallowclientrenegotiation", advanced(atTLS, "Renegotiation"), []string{"false", "0"},
		"Clients never renegotiate a connection (RFC 9325, 3.5)."),
	directive("forwardsni", advanced(atTLS, "Forward SNI"), []string{"true", "1"},
		"TLS backends receive the Host of each request as SNI name, or httpsb_name of their service."),
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
