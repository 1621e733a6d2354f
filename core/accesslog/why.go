package accesslog

// Why says how the backend of an exchange was found.
type Why uint8

// The ways; the zero value is none, of what no backend was looked for.
const (
	WhyNone      Why = iota
	WhyAlgorithm     // the service's policy
	WhySession       // the client's session
	WhyCookie        // the cookie the service sets
	WhyPin           // the connection the client keeps
	WhyAttempt       // none was usable, and it was tried though it was down
)

var whyNames = [...]string{"", "algorithm", "session", "cookie", "pin", "attempt"}

// String is what logs call it, empty for none.
func (w Why) String() string {
	if int(w) < len(whyNames) {
		return whyNames[w]
	}
	return ""
}
