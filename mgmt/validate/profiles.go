package validate

// init lists the profiles. A new one is an entry here.
func init() { Register(httpProfile{}, l4Profile{}, dnsProfile{}) }
