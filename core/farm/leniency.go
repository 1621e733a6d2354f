package farm

// Leniency is a deviation from HTTP/1 that a service accepts in responses of backends. None
// makes a response ambiguous.
type Leniency string

// The deviations, and all of them.
const (
	LenientAll        Leniency = "all"
	LenientCoding     Leniency = "repeated_chunked" // Transfer-Encoding: chunked, chunked
	LenientIdentity   Leniency = "identity_coding"  // Transfer-Encoding: identity
	LenientChunkSize  Leniency = "chunk_size"       // blanks after a chunk size, zeros before it
	LenientStatus     Leniency = "status_range"     // 600-999
	LenientStatusLine Leniency = "status_line"      // later versions, several blanks, control bytes
	LenientLineEnd    Leniency = "bare_lf"          // all lines of a head end in LF
	LenientNameBlank  Leniency = "name_blanks"      // before the colon
	LenientNameByte   Leniency = "field_names"      // bytes not allowed in a token
	LenientControl    Leniency = "control_bytes"    // in values
	LenientConnection Leniency = "connection"       // options that are not tokens
)

// Leniencies lists all deviations, after the word for all of them.
func Leniencies() []Leniency {
	return []Leniency{LenientAll, LenientCoding, LenientIdentity, LenientChunkSize, LenientStatus, LenientStatusLine,
		LenientLineEnd, LenientNameBlank, LenientNameByte, LenientControl, LenientConnection}
}
