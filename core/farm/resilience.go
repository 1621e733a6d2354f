package farm

// Queueing says what becomes of exchanges that find every usable backend of
// their service at its connection limit; the zero value answers 503 at once.
type Queueing struct {
	// Queue is how many of them may wait, in the whole engine; 0 is none.
	Queue uint16 `json:"queue,omitempty"`
	// QueueTimeout bounds the wait of each; 0 means DefaultQueueTimeout. Valid
	// with Queue.
	QueueTimeout Seconds `json:"queue_timeout,omitempty"`
}

// DefaultQueueTimeout is how long an exchange waits for a backend to have room
// when its service does not say.
const DefaultQueueTimeout Seconds = 5

// Retrying says which failed tries of a request go on to another backend,
// beside connects that fail, which always do. The zero value is none.
type Retrying struct {
	RetryOn []RetryCondition `json:"retry_on,omitempty"`
	// Retries bounds those of one request; 0 means DefaultRetries. This field and
	// the next ones are valid with RetryOn.
	Retries uint8 `json:"retries,omitempty"`
	// RetryBudget is how many of a hundred requests may be retries; 0 means
	// DefaultRetryBudget.
	RetryBudget uint8 `json:"retry_budget,omitempty"`
	// RetryUnsafe lets requests be repeated that may change something, too.
	RetryUnsafe bool `json:"retry_unsafe,omitempty"`
}

// Defaults of Retrying.
const (
	DefaultRetries     = 1
	DefaultRetryBudget = 20
)

// RetryCondition is how a try may fail: a word, or a status in digits.
type RetryCondition string

// The words.
const (
	RetryConnect RetryCondition = "connect" // no connection
	RetryReset   RetryCondition = "reset"   // its end before the first byte of an answer
	RetryTimeout RetryCondition = "timeout" // no byte of an answer in time
)

// RetryConditions lists all that may be asked for.
func RetryConditions() []RetryCondition {
	return []RetryCondition{RetryConnect, RetryReset, RetryTimeout, "408", "425", "429", "500", "502", "503", "504"}
}
