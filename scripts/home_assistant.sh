#!/bin/sh
# Put a Home Assistant into a folder, for tests/journeys/test_home_assistant.py, and print the command that starts it.
# It wants Python 3.13, so it comes in a Debian 13 of its own: root, debootstrap and bubblewrap; five minutes, 1.3 GB.
set -eu
folder=$(realpath -m "$1")
system=$folder/system
mkdir -p "$folder"
[ -e "$system/usr/bin/python3.13" ] ||
    debootstrap --variant=minbase --include=python3-venv,python3-dev,g++,ca-certificates trixie "$system"
cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/" # whom this machine trusts
inside() { bwrap --die-with-parent --bind "$system" / --dev /dev --proc /proc --ro-bind /etc/resolv.conf /etc/resolv.conf "$@"; }
inside python3 -m venv /hass
inside /hass/bin/pip install --quiet uv
inside env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt /hass/bin/uv pip install --quiet --python /hass/bin/python \
    homeassistant==2026.2.3 home-assistant-frontend==20260128.6 wyoming==1.7.2 hassil==3.5.0 \
    home-assistant-intents==2026.1.28 pymicro-vad==1.0.1 pyspeex-noise==1.0.2 mutagen==1.47.0 ha-ffmpeg==3.2.2 \
    PyTurboJPEG==1.8.0 imageio-ffmpeg==0.8.1
inside sh -c 'ln -sf "$(/hass/bin/python -c "import imageio_ffmpeg as f; print(f.get_ffmpeg_exe())")" /usr/local/bin/ffmpeg'
cat >"$folder/hass" <<END
#!/bin/sh
exec bwrap --die-with-parent --bind "$system" / --dev /dev --proc /proc --bind /tmp /tmp /hass/bin/python -m homeassistant "\$@"
END
chmod +x "$folder/hass"
echo "HOME_ASSISTANT=$folder/hass"
