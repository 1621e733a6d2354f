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
