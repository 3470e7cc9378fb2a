package servers

// Option changes one setting of a server from what this package starts it with.
type Option func(*settings)

// With sets a directive of the server's configuration: With("appendonly", "yes") for Redis,
// With("max_payload", "8MB") for NATS. A directive given again replaces the earlier one.
func With(directive string, values ...string) Option {
	return func(s *settings) { s.set(directive, values...) }
}

// SyncInterval sets JetStream's sync_interval, which is "always" unless told otherwise: "2m" is what
// the server does by default, acknowledging what is not on disk.
func SyncInterval(interval string) Option {
	return func(s *settings) { s.syncInterval = interval }
}

type directive struct {
	name   string
	values []string
}

type settings struct {
	directives   []directive // in the order first given
	syncInterval string
}

func (s *settings) set(name string, values ...string) {
	for i := range s.directives {
		if s.directives[i].name == name {
			s.directives[i].values = values
			return
		}
	}
	s.directives = append(s.directives, directive{name, values})
}

func (s *settings) apply(opts []Option) {
	for _, o := range opts {
		o(s)
	}
}
