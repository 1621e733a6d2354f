package tlsconf

// VersionRange shows versionRange to tests.
var VersionRange = versionRange

// ParseCiphers shows parseCiphers to tests.
var ParseCiphers = parseCiphers

// Words returns the keywords that can stand alone.
func Words() []string {
	var words []string
	for w := range keywords {
		words = append(words, w)
	}
	return words
}

// SuiteNames maps the suites to OpenSSL's names.
func SuiteNames() map[uint16]string {
	names := make(map[uint16]string)
	for i := range suites {
		names[suites[i].id] = suites[i].name
	}
	return names
}

// Known reports whether a cipher string may have that word.
func Known(name string) bool {
	_, ok := vocabulary()[name]
	return ok || tls13Names[name]
}
