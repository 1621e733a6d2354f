package format

// Limits of texts and numbers that the contract leaves open.
const (
	// MaxName is the maximum length of a farm or service name, in bytes.
	MaxName = 64
	// MaxErrorText is the maximum length of a configured error body, in bytes.
	MaxErrorText = 4 << 10
	// MaxPattern is the maximum length of a regex, in bytes.
	MaxPattern = 1024
	// MaxURL is the maximum length of a redirect, in bytes.
	MaxURL = 2048
	// MaxTimeout is the maximum timeout in seconds: one day. Any longer wait is for a dead
	// connection.
	MaxTimeout = 86400
	// MaxTTL is the maximum lifetime of an unused session in seconds: one year.
	MaxTTL = 365 * 86400
)
