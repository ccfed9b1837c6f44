package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// A browser's session is in its cookie alone, sealed with a secret of the primary store: whichever server of the store is asked can
// read it, and nobody else can read or make one.
const (
	sessionCookie = "strata_console"
	sessionLife   = 12 * time.Hour
	maxTokenBytes = 2500 // sealed and encoded it still fits into a cookie of 4,096 bytes
	maxEnded      = 10_000
)

// session is what the cookie holds.
type session struct {
	ID    string `json:"id"`              // random
	Token string `json:"token,omitempty"` // of the key that was given at the login page; "" before
	Ends  int64  `json:"ends"`            // in seconds since 1970
}

// sessions makes and reads sessions. Its methods may be called concurrently.
type sessions struct {
	box cipher.AEAD
	mac []byte // key of the tokens that forms carry
	now func() time.Time

	mu    sync.Mutex
	ended map[string]int64 // ids of sessions that were logged out of, with the time at which they would have ended
}

// newSessions derives the keys from a secret of at least 16 bytes.
func newSessions(secret []byte, now func() time.Time) (*sessions, error) {
	if len(secret) < 16 {
		return nil, errors.New("the console's secret has less than 16 bytes")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "strata console: sessions", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of sessions: %w", err)
	}
	mac, err := hkdf.Key(sha256.New, secret, nil, "strata console: forms", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of forms: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the cipher of sessions: %w", err)
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("the cipher of sessions: %w", err)
	}
	return &sessions{box: box, mac: mac, now: now, ended: map[string]int64{}}, nil
}

// begin makes a session with a token, "" for none.
func (s *sessions) begin(token string) session {
	id := make([]byte, 16)
	rand.Read(id) // never fails: crypto/rand ends the program instead
	return session{ID: base64.RawURLEncoding.EncodeToString(id), Token: token, Ends: s.now().Add(sessionLife).Unix()}
}

// of returns the session of a request; false where it has none that is good.
func (s *sessions) of(r *http.Request) (session, bool) {
	var found session
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return found, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return found, false
	}
	opened, err := s.box.Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(opened, &found) != nil {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ended := s.ended[found.ID]; ended || s.now().Unix() >= found.Ends {
		return session{}, false
	}
	return found, true
}

// set gives the browser a session. Scripts cannot read it, and it is sent with no request that another site caused.
func (s *sessions) set(w http.ResponseWriter, r *http.Request, given session) error {
	plain, err := json.Marshal(given)
	if err != nil {
		return fmt.Errorf("write the session: %w", err)
	}
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: base64.RawURLEncoding.EncodeToString(s.box.Seal(nil, nil, plain, nil)), Path: Path,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isEncrypted(r), MaxAge: int(sessionLife / time.Second),
	})
	return nil
}

// end has a session not be good any more on this server. Elsewhere it ends with its time, or with its key.
func (s *sessions) end(over session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) >= maxEnded {
		s.forgetEnded()
	}
	s.ended[over.ID] = over.Ends
}

// forgetEnded makes room: of those whose time is over, else of those that would have ended first.
func (s *sessions) forgetEnded() {
	first := ""
	for id, ends := range s.ended {
		if ends <= s.now().Unix() {
			delete(s.ended, id)
		} else if first == "" || ends < s.ended[first] {
			first = id
		}
	}
	if len(s.ended) >= maxEnded {
		delete(s.ended, first)
	}
}

// formToken is what a form of the session must carry, so that no other page can send it.
func (s *sessions) formToken(of session) string {
	mac := hmac.New(sha256.New, s.mac)
	mac.Write([]byte(of.ID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// isForm reports whether the token is that of a form of the session.
func (s *sessions) isForm(of session, token string) bool {
	return hmac.Equal([]byte(s.formToken(of)), []byte(token))
}

// isEncrypted reports whether the browser speaks TLS, to this server or to a proxy before it.
func isEncrypted(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}
