package validate

// A new profile is an entry in this list.
func init() { Register(httpProfile{}, l4Profile{}, dnsProfile{}) }
