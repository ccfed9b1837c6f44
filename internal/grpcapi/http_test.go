package grpcapi

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/admission"
)

func TestAServerThatIsStoppedBeforeItServesEndsWithoutAnError(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(Entrance) (http.Handler, error){
		"gRPC alone": nil,
		"with HTTP":  func(Entrance) (http.Handler, error) { return http.NotFoundHandler(), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := admission.New(admission.Options{Heavy: 1, Memory: 64 << 20, Wait: time.Second})
			s, err := New(Options{
				Log: slog.New(slog.DiscardHandler), Gate: gate, MaxConnections: 1, RequestTimeout: time.Second, ReplyTimeout: time.Second, HTTP: handler,
			})
			if err != nil {
				t.Fatal(err)
			}
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s.shutdown()
			if err := s.serve(newConnections(l, s.conns, s.gate, s.log)); err != nil {
				t.Error(err)
			}
		})
	}
}
